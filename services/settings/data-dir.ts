/**
 * Runs what reads or writes `path` in the data folder. An error of the file system is thrown anew, with the file, the
 * setting and what to do: the system never names the setting, and names no file if a disk is full.
 */
export async function inDataDir<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const { path: named, syscall, message } = cause as NodeJS.ErrnoException;
    // Only errors of the system. Our own errors have their message already.
    if (syscall === undefined) throw cause;
    throw new Error(`Cannot use ${named ?? path}: ${message}; fix that, or name another folder in DATA_DIR`, {
      cause,
    });
  }
}
