/** Loaded into a measured process by `--import`: it answers each message with the CPU time that the process has used. */
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send!({ cpuSeconds: (user + system) / 1e6 });
});
