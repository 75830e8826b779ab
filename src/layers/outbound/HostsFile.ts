import { readFileSync, statSync } from "node:fs"
import { isIP } from "node:net"
import type { Address } from "./Address.ts"

/** The names that this machine knows without asking: a hosts file, and `localhost`. */
export interface HostsFile {
  readonly find: (name: string) => ReadonlyArray<Address> | undefined
}

/** A hosts file, read again when it changes. A missing one is empty. */
export const watch = (file: string, now: () => number): HostsFile => {
  const changed = changes(file, now)
  let names: ReadonlyMap<string, ReadonlyArray<Address>> = read(file)
  return {
    find: (name) => {
      if (isLocalhost(name)) return localhost
      if (changed()) names = read(file)
      return names.get(name)
    }
  }
}

/** Tells whether a file has changed since it was asked last; looks at it every five seconds at most. */
export const changes = (file: string, now: () => number): () => boolean => {
  const stamp = atMostEvery(5_000, now, () => modified(file))
  let before = stamp()
  return () => {
    const current = stamp()
    const changed = current !== before
    before = current
    return changed
  }
}

/** A value that is read again only after some milliseconds. */
export const atMostEvery = <A>(milliseconds: number, now: () => number, read: () => A): () => A => {
  let value = read()
  let last = now()
  return () => {
    if (now() - last >= milliseconds) {
      value = read()
      last = now()
    }
    return value
  }
}

const modified = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

const read = (file: string) => {
  try {
    return parse(readFileSync(file, "utf8"))
  } catch {
    // No such file, or not ours to read: then it names nothing.
    return new Map<string, ReadonlyArray<Address>>()
  }
}

/** `address name name … # comment`; IPv4 first, as the resolver orders them. */
export const parse = (text: string): ReadonlyMap<string, ReadonlyArray<Address>> => {
  const names = new Map<string, Array<Address>>()
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

/** RFC 6761: `localhost` and all below it are this machine, whatever anybody answers. */
const isLocalhost = (name: string): boolean => name === "localhost" || name.endsWith(".localhost")

const localhost: ReadonlyArray<Address> = [{ address: "127.0.0.1", family: 4 }, { address: "::1", family: 6 }]
