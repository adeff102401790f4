interface Closable {
  close(): unknown;
}

export const closeAll = async (...all: readonly Closable[]): Promise<void> => {
  await Promise.all(all.map((one) => one.close()));
};

/** Does some work with what was opened for it, which is closed at its end, however it ends. */
export async function closing<T>(opened: readonly Closable[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await closeAll(...opened);
  }
}
