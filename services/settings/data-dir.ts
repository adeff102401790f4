const fixes: Readonly<Record<string, string>> = {
  ENOSPC: 'its disk is full; make room there',
  EDQUOT: "this user's part of its disk is full; make room there",
  EACCES: 'this user may not; change its owner or rights',
  EPERM: 'this user may not; change its owner or rights',
  EROFS: 'its disk is read-only',
  EISDIR: 'it is a folder; move it away',
  ENOTDIR: 'a file is where a folder should be; move it away',
};

/**
 * Runs what reads or writes `path` in the data folder. An error of the file system is thrown anew, with the file, the
 * setting and what to do: the system never names the setting, and names no file if a disk is full.
 */
export async function inDataDir<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const { code, path: named, syscall, message } = cause as NodeJS.ErrnoException;
    // Only errors of the system. Our own errors have their message already.
    if (code === undefined || syscall === undefined) throw cause;
    const why = `${code}, ${fixes[code] ?? message}`;
    throw new Error(`Cannot use ${named ?? path}: ${why}, or name another folder in DATA_DIR`, { cause });
  }
}
