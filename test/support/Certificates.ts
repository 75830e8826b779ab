import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"
import { isIPv4 } from "node:net"

/** Certificate and key of a TLS server (PEM). */
export interface Identity {
  readonly key: string
  readonly cert: string
}

export interface Authority {
  /** Certificate for the client's trust store (PEM). */
  readonly ca: string
  /** Issues a certificate for names and IPv4 addresses, valid for ten days by default. */
  readonly issue: (names: ReadonlyArray<string>, until?: Date) => Identity
}

/** Makes a certificate authority, without openssl on the machine. */
export const authority = (title = "Test CA"): Authority => {
  const keys = newKeys()
  const ca = certificate({
    issuer: title,
    signer: keys.privateKey,
    subject: title,
    key: keys.publicKey,
    authority: true
  })
  return {
    ca,
    issue: (names, until) => {
      const own = newKeys()
      const cert = certificate({
        issuer: title,
        signer: keys.privateKey,
        subject: "leaf",
        key: own.publicKey,
        names,
        until
      })
      return { key: pkcs8(own.privateKey), cert }
    }
  }
}

/** A self-signed certificate. */
export const selfSigned = (names: ReadonlyArray<string>): Identity => {
  const { privateKey, publicKey } = newKeys()
  const cert = certificate({ issuer: "self", signer: privateKey, subject: "self", key: publicKey, names })
  return { key: pkcs8(privateKey), cert }
}

const newKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" })

const pkcs8 = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString()

interface Claims {
  readonly issuer: string
  readonly signer: KeyObject
  readonly subject: string
  readonly key: KeyObject
  readonly names?: ReadonlyArray<string>
  readonly until?: Date | undefined
  readonly authority?: true
}

/** An X.509 v3 certificate (RFC 5280), PEM. */
const certificate = ({ authority, issuer, key, names = [], signer, subject, until }: Claims): string => {
  const algorithm = sequence(oid(1, 2, 840, 10045, 4, 3, 2)) // ecdsa-with-SHA256
  const extensions = sequence(
    sequence(oid(2, 5, 29, 19), der(0x04, sequence(...(authority ? [der(0x01, Buffer.from([0xff]))] : [])))), // basicConstraints
    ...(names.length === 0 ? [] : [sequence(oid(2, 5, 29, 17), der(0x04, sequence(...names.map(alternativeName))))])
  )
  const signed = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    name(issuer),
    sequence(time(new Date("2020-01-01")), time(until ?? new Date(Date.now() + 10 * 86_400_000))),
    name(subject),
    key.export({ type: "spki", format: "der" }),
    der(0xa3, extensions)
  )
  const signature = der(0x03, Buffer.from([0]), sign("sha256", signed, signer))
  const body = sequence(signed, algorithm, signature).toString("base64").replace(/.{64}/g, "$&\n")
  return `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`
}

const alternativeName = (text: string): Buffer =>
  isIPv4(text) ? der(0x87, Buffer.from(text.split(".").map(Number))) : der(0x82, Buffer.from(text))

const name = (common: string): Buffer => sequence(der(0x31, sequence(oid(2, 5, 4, 3), der(0x0c, Buffer.from(common)))))

const time = (date: Date): Buffer => der(0x18, Buffer.from(date.toISOString().replace(/[-:T]|\.\d+/g, "")))

/** Encodes tag, length and contents in DER. */
const der = (tag: number, ...contents: ReadonlyArray<Buffer>): Buffer => {
  const content = Buffer.concat(contents)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...contents: ReadonlyArray<Buffer>): Buffer => der(0x30, ...contents)

const oid = (first: number, second: number, ...rest: ReadonlyArray<number>): Buffer =>
  der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))

const base128 = (value: number): ReadonlyArray<number> =>
  value < 0x80 ? [value] : [...base128(value >> 7).map((byte) => byte | 0x80), value & 0x7f]
