import { readFileSync, statSync } from "node:fs"
import { isIP } from "node:net"

export interface IpAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** Names that this machine resolves without a name server: its hosts file, and `localhost`. */
export interface HostsFile {
  readonly find: (name: string) => ReadonlyArray<IpAddress> | undefined
}

/** Reads a hosts file, again after each change. A missing file is empty. */
export const watchHostsFile = (file: string, now: () => number): HostsFile => {
  const hasChanged = watchChanges(file, now)
  let names = readHostsFile(file)
  return {
    find: (name) => {
      if (isLocalhost(name)) return localhost
      if (hasChanged()) names = readHostsFile(file)
      return names.get(name)
    }
  }
}

/** Returns a function that tells if a file has changed since its last call. It checks the file every five seconds at most. */
export const watchChanges = (file: string, now: () => number): () => boolean => {
  const stamp = atMostEvery(5_000, now, () => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  let before = stamp()
  return () => {
    const current = stamp()
    const changed = current !== before
    before = current
    return changed
  }
}

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

const readHostsFile = (file: string): ReadonlyMap<string, ReadonlyArray<IpAddress>> => {
  try {
    return parseHostsFile(readFileSync(file, "utf8"))
  } catch {
    // A missing or unreadable file counts as empty.
    return new Map<string, ReadonlyArray<IpAddress>>()
  }
}

/** Parses lines of the form `address name name … # comment`. IPv4 addresses come first, as in DNS answers. */
export const parseHostsFile = (text: string): ReadonlyMap<string, ReadonlyArray<IpAddress>> => {
  const names = new Map<string, Array<IpAddress>>()
  for (const line of text.split("\n")) {
    const [address = "", ...aliases] = (line.split("#", 1)[0] ?? "").trim().split(/\s+/)
    const family = isIP(address)
    if (family !== 4 && family !== 6) continue
    for (const alias of aliases) {
      const name = alias.toLowerCase()
      names.set(name, [...(names.get(name) ?? []), { address, family }])
    }
  }
  return new Map([...names].map(([name, addresses]) => [name, addresses.toSorted((a, b) => a.family - b.family)]))
}

/** `localhost` and all names below it are this machine, regardless of DNS (RFC 6761). */
const isLocalhost = (name: string): boolean => name === "localhost" || name.endsWith(".localhost")

const localhost: ReadonlyArray<IpAddress> = [{ address: "127.0.0.1", family: 4 }, { address: "::1", family: 6 }]
