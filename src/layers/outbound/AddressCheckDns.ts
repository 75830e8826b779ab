import { Effect, Layer } from "effect"
import net from "node:net"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import { AddressCheck } from "#domain/ports/AddressCheck.ts"
import { networksOf } from "#domain/limits/IpNetwork.ts"
import { type IpAddress, isLocalhost } from "./DnsResolver.ts"
import { Network } from "./Network.ts"

/** Time for the resolution of a name. A slower name counts as reachable. */
const resolutionTimeout = "2 seconds"

/** Maximum of names under resolution. Beyond it, names count as reachable, and the connection judges them. */
const maxResolutions = 64

/**
 * Judges the host of a URL as `GuardedConnector` does later: literals and ports at once, names by their present addresses.
 *
 * The sentence about a name leaves its address out, because a stranger could otherwise read the names of an internal network.
 */
export const layer = Layer.effect(
  AddressCheck,
  Effect.map(Network, ({ guard, logRefusedName, resolver }) => {
    const resolutions = new KeyedCounter({ maxTotal: maxResolutions })

    /** Addresses of a name; none when the name cannot be resolved in time, or too many names are under resolution. */
    const resolve = (name: string): Effect.Effect<ReadonlyArray<IpAddress>> =>
      Effect.acquireUseRelease(
        Effect.sync(() => resolutions.tryAdd(undefined)),
        (hasRoom) =>
          hasRoom
            ? Effect.tryPromise(() => resolver.resolve(name)).pipe(
              Effect.timeout(resolutionTimeout),
              Effect.orElseSucceed(() => [])
            )
            : Effect.succeed([]),
        (hasRoom) => Effect.sync(() => hasRoom && resolutions.remove(undefined))
      )

    /** Why the first address is forbidden, if all are. */
    const explainAll = (addresses: ReadonlyArray<IpAddress>): string | undefined => {
      const texts = addresses.map(({ address }) => guard.explainAddress(address))
      return texts.includes(undefined) ? undefined : texts[0]
    }

    /** True when the name resolves to forbidden addresses only. */
    const isForbiddenName = (name: string): Effect.Effect<boolean> =>
      Effect.map(resolve(name), (addresses) => {
        const text = explainAll(addresses)
        if (text !== undefined) logRefusedName(name, addresses[0]?.address ?? "", text)
        return text !== undefined
      })

    return AddressCheck.of({
      resolveNetworks: Effect.fnUntraced(function*(url: string) {
        const host = bareHost(new URL(url))
        const networks = networksOf(host)
        if (networks !== undefined) return networks
        const [first] = yield* resolve(host)
        return first && networksOf(first.address)
      }),
      explain: Effect.fnUntraced(function*(url: string) {
        const parsed = new URL(url)
        const { port } = parsed
        const portText = guard.explainPort(Number(port))
        if (port !== "" && portText !== undefined) return `The ${portText}.`
        const host = bareHost(parsed)
        if (net.isIP(host) !== 0) {
          const text = guard.explainAddress(host)
          return text === undefined ? undefined : `${host} is ${text}. ${publicOnly}`
        }
        if (!(yield* isForbiddenName(host))) return undefined
        return isLocalhost(host)
          ? `${host} is this machine itself. ${publicOnly}`
          : `The name ${host} has addresses of this machine, of a private network or of special use only. ${publicOnly}`
      })
    })
  })
)

/** The host without the brackets of an IPv6 address and without the dot at the end of a name. */
const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$|\.$/g, "")

const publicOnly = "Windhover connects to public addresses only, unless its operator sets WINDHOVER_ALLOW_PRIVATE=true."
