import { Effect, type Scope } from "effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface Identity {
  readonly key: string
  readonly cert: string
}

export interface Authority {
  /** What a client has to trust (PEM). */
  readonly ca: string
  /** A certificate for names (`DNS:localhost`) and addresses (`IP:127.0.0.1`); without an end it is valid for ten days. */
  readonly issue: (names: ReadonlyArray<string>, until?: Date) => Identity
  /** One that nobody vouches for. */
  readonly selfSigned: (names: ReadonlyArray<string>) => Identity
}

/** A certificate authority in a temporary directory of the test. */
export const authority: Effect.Effect<Authority, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "authority-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
  ),
  (directory) => {
    const openssl = (...args: ReadonlyArray<string>) =>
      execFileSync("openssl", args, { cwd: directory, stdio: ["ignore", "ignore", "ignore"] })
    const read = (name: string) => readFileSync(join(directory, name), "utf8")
    const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"] as const
    openssl("req", "-x509", ...newKey, "-days", "10", "-subj", "/CN=Test CA", "-keyout", "ca.key", "-out", "ca.pem")
    writeFileSync(join(directory, "ca.cnf"), configuration)
    writeFileSync(join(directory, "index"), "")
    return {
      ca: read("ca.pem"),
      issue: (names, until = new Date(Date.now() + 10 * 86_400_000)) => {
        writeFileSync(join(directory, "names"), `subjectAltName=${names.join(",")}\n`)
        openssl("req", "-new", ...newKey, "-subj", "/CN=test", "-keyout", "leaf.key", "-out", "leaf.csr")
        const dates = ["-startdate", "20200101000000Z", "-enddate", asn1Time(until)]
        openssl(
          "ca",
          "-batch",
          "-config",
          "ca.cnf",
          "-in",
          "leaf.csr",
          "-out",
          "leaf.pem",
          ...dates,
          "-extfile",
          "names"
        )
        return { key: read("leaf.key"), cert: read("leaf.pem") }
      },
      selfSigned: (names) => {
        const extension = ["-addext", `subjectAltName=${names.join(",")}`]
        openssl("req", "-x509", ...newKey, "-subj", "/CN=test", ...extension, "-keyout", "self.key", "-out", "self.pem")
        return { key: read("self.key"), cert: read("self.pem") }
      }
    }
  }
)

const asn1Time = (date: Date): string => date.toISOString().replace(/[-:T]|\.\d+/g, "")

/** `openssl ca` lets a certificate end in the past. */
const configuration = `[ca]
default_ca = test
[test]
database = index
new_certs_dir = .
certificate = ca.pem
private_key = ca.key
default_md = sha256
policy = anything
rand_serial = yes
unique_subject = no
[anything]
commonName = supplied
`
