import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parse } from "yaml"
import { settingsTable } from "#domain/SettingsTable.ts"
import { maxStopTime } from "#main/cli/Signals.ts"
import { readContainerfile } from "#test/release/Containerfile.ts"

const deploy = join(import.meta.dirname, "../../deploy")
const read = (name: string) => readFileSync(join(deploy, "container", name), "utf8")

/** The parts of a compose file that the project's files use. A misspelled key is no part. */
interface Compose {
  readonly services: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly volumes: Readonly<Record<string, unknown>>
}

const readCompose = (name: string): Compose => {
  const compose = parse(read(name), { strict: true, uniqueKeys: true, version: "1.2" })
  assert.deepStrictEqual(Object.keys(compose), ["services", "volumes"])
  return compose
}

const image = readContainerfile(read("Containerfile"))
const files = ["compose.yaml", "compose.postgres.yaml"]
const known = new Set<string>(Object.values(settingsTable).map(({ variable }) => variable))

/** Variables of the project in a text that are no settings. */
const findUnknown = (text: string) => (text.match(/\bWINDHOVER_[A-Z0-9_]+/g) ?? []).filter((name) => !known.has(name))

/** Every scalar of a document. */
const scalars = (value: unknown): ReadonlyArray<string> =>
  value !== null && typeof value === "object" ? Object.values(value).flatMap(scalars) : [String(value)]

describe("compose.yaml", () => {
  const { services, volumes } = readCompose("compose.yaml")

  it("has the service with these values, and no other", () => {
    assert.deepStrictEqual(services, {
      windhover: {
        build: { context: ".", dockerfile: "Containerfile" },
        image: "windhover",
        environment: {
          WINDHOVER_BASE_URL: "${WINDHOVER_BASE_URL:-http://localhost:8080}",
          WINDHOVER_TRUSTED_PROXIES: "${WINDHOVER_TRUSTED_PROXIES:-}"
        },
        ports: ["127.0.0.1:8080:8080"],
        volumes: ["windhover:/var/lib/windhover"],
        healthcheck: { test: ["CMD", ...image.healthCheck], interval: "30s", timeout: "10s", start_period: "60s" },
        restart: "unless-stopped",
        stop_grace_period: "75s",
        user: image.user,
        read_only: true,
        tmpfs: ["/tmp"],
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"]
      }
    })
    assert.deepStrictEqual(volumes, { windhover: {} })
  })

  it("publishes the port of the image on loopback, and keeps its volume", () => {
    const { ports, volumes: mounts } = services["windhover"] ?? {}
    assert.deepStrictEqual(ports, [`127.0.0.1:${image.port}:${image.environment["WINDHOVER_PORT"]}`])
    assert.deepStrictEqual(mounts, [`windhover:${image.volume}`])
    assert.isTrue(image.environment["WINDHOVER_FIRST_ACCOUNT_FILE"]?.startsWith(`${image.volume}/`))
  })
})

describe("compose.postgres.yaml", () => {
  const { services, volumes } = readCompose("compose.postgres.yaml")

  it("adds a server that the service waits for, with one password that has no default", () => {
    const password = "${POSTGRES_PASSWORD:?set a password}"
    assert.deepStrictEqual(services, {
      windhover: {
        environment: { WINDHOVER_DATABASE_URL: `postgres://windhover:${password}@postgres:5432/windhover` },
        depends_on: { postgres: { condition: "service_healthy" } }
      },
      postgres: {
        image: "docker.io/library/postgres:17",
        environment: { POSTGRES_USER: "windhover", POSTGRES_DB: "windhover", POSTGRES_PASSWORD: password },
        volumes: ["postgres:/var/lib/postgresql/data"],
        healthcheck: {
          test: ["CMD", "pg_isready", "--username=windhover"],
          interval: "10s",
          timeout: "5s",
          start_period: "30s"
        },
        restart: "unless-stopped",
        stop_grace_period: "60s"
      }
    })
    assert.deepStrictEqual(volumes, { postgres: {} })
  })
})

describe("the files of the container", () => {
  it("let a stop take longer than the service does", () => {
    const grace = Duration.seconds(
      Number.parseInt(String(readCompose("compose.yaml").services["windhover"]?.["stop_grace_period"]))
    )
    const unit = /^TimeoutStopSec=(\d+)s$/m.exec(readFileSync(join(deploy, "debian/windhover.service"), "utf8"))
    for (const time of [grace, Duration.seconds(Number(unit?.[1]))]) {
      assert.isTrue(
        Duration.isGreaterThan(time, Duration.sum(Duration.fromInputUnsafe(maxStopTime), Duration.seconds(5)))
      )
    }
  })

  it("name settings alone, and mount or take nothing of the host", () => {
    for (const name of [...files, "Containerfile", "healthcheck"]) {
      assert.deepStrictEqual(findUnknown(read(name)), [], name)
    }
    for (const name of files) {
      const { services } = readCompose(name)
      for (const service of Object.values(services)) {
        const mounts = scalars(service["volumes"]).filter((mount) => !/^[a-z]+:\/[a-z/]+$/.test(mount))
        assert.deepStrictEqual(mounts.filter((mount) => mount !== "undefined"), [])
        assert.notIncludeMembers(Object.keys(service), ["env_file", "secrets", "privileged", "network_mode", "cap_add"])
      }
      const secrets = scalars(services).filter((text) => /password|secret|token|key=/i.test(text))
      assert.isTrue(secrets.every((text) => text.includes("${POSTGRES_PASSWORD:?set a password}")))
    }
  })

  it("check the health of the port of the settings, at a path of the service", () => {
    const healthcheck = read("healthcheck")
    assert.include(healthcheck, "http://127.0.0.1:${process.env.WINDHOVER_PORT || 8080}/healthz")
    assert.deepStrictEqual(image.healthCheck, ["/usr/lib/windhover/bin/healthcheck"])
  })
})

describe("Containerfile", () => {
  it("runs the installed command as its user, on a base with a release", () => {
    assert.deepStrictEqual({ ...image, steps: image.steps.length }, {
      base: "docker.io/library/debian:bookworm-slim",
      steps: 2,
      environment: {
        WINDHOVER_HOST: "0.0.0.0",
        WINDHOVER_PORT: "8080",
        WINDHOVER_FIRST_ACCOUNT_FILE: "/var/lib/windhover/first-account.txt"
      },
      user: "windhover",
      volume: "/var/lib/windhover",
      port: "8080",
      stopSignal: "SIGTERM",
      command: ["/usr/bin/windhover", "serve"],
      healthCheck: ["/usr/lib/windhover/bin/healthcheck"]
    })
    assert.match(image.steps[0] ?? "", /--gid 8473 windhover .* --uid 8473 .* --shell \/usr\/sbin\/nologin windhover$/)
    assert.match(image.steps[1] ?? "", /^dpkg --install \/packages\/windhover_\*_/)
    assert.notMatch(read("Containerfile"), /^(?:ARG|ADD|COPY)|password|secret|token|curl|wget|apt-get/im)
  })

  it("has no instruction that its reader does not know", () => {
    assert.throws(() => readContainerfile("FROM a\nADD https://example.com/ /\n"), /unknown or repeated: ADD/)
    assert.throws(() => readContainerfile("USER a\nUSER root\n"), /unknown or repeated: USER root/)
  })
})
