/** An entry for a JID. */
interface Told {
  readonly jid: string
  readonly entry: string
}

/**
 * Messages between the runners and the server, by JID and entry.
 *
 * `written` entries have left a runner, `confirmed` ones precede a ping that the server has answered, `received` ones have reached a client.
 */
export class Ledger {
  readonly written = new Map<string, number>()
  readonly received = new Map<string, number>()
  /** Confirmed entries of each JID, in the order of their first confirmation. */
  readonly confirmed = new Map<string, Set<string>>()

  write({ entry, jid }: Told): void {
    increment(this.written, `${jid} ${entry}`)
  }

  confirm({ entry, jid }: Told): void {
    const entries = this.confirmed.get(jid) ?? new Set()
    this.confirmed.set(jid, entries.add(entry))
  }

  receive({ entry, jid }: Told): void {
    increment(this.received, `${jid} ${entry}`)
  }
}

const increment = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1)

const messageOrPing =
  /<message [^>]*?to="([^"]+)"[^>]*>(?:(?!<\/message>).)*?<item [^>]*?id="([^"]+)"(?:(?!<\/message>).)*<\/message>|<iq [^>]*?id="(fence-\d+)"[^>]*>/gs
const answer = /<iq [^>]*?id=["'](fence-\d+)["'][^>]*>/g

/** Reads the two directions of one connection into the ledger. */
export const makeTap = (ledger: Ledger) => {
  let [fromRunner, fromServer] = ["", ""]
  let unconfirmed: Array<Told> = []
  const open = new Map<string, Array<Told>>()
  return {
    readRunner: (bytes: Uint8Array) => {
      fromRunner += Buffer.from(bytes).toString("latin1")
      let end = 0
      for (const match of fromRunner.matchAll(messageOrPing)) {
        const [text, jid, entry, ping] = match
        end = match.index + text.length
        if (jid !== undefined && entry !== undefined) {
          ledger.write({ jid, entry })
          unconfirmed.push({ jid, entry })
        } else if (ping !== undefined) {
          open.set(ping, unconfirmed)
          unconfirmed = []
        }
      }
      fromRunner = fromRunner.slice(end)
    },
    readServer: (bytes: Uint8Array) => {
      fromServer = (fromServer + Buffer.from(bytes).toString("latin1")).slice(-10_000)
      for (const [, ping = ""] of fromServer.matchAll(answer)) {
        for (const told of open.get(ping) ?? []) ledger.confirm(told)
        open.delete(ping)
      }
    }
  }
}
