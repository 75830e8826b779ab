/** Caches a value for some milliseconds. */
export const atMostEvery = <A>(milliseconds: number, now: () => number, read: () => A): () => A => {
  let value = read()
  let readAt = now()
  return () => {
    if (now() - readAt >= milliseconds) {
      value = read()
      readAt = now()
    }
    return value
  }
}
