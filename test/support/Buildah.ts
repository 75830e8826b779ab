import { execFile } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { unpackDebianPackages } from "#scripts/DebianPackages.ts"

const run = promisify(execFile)

/** The configuration of an image, as Docker names its parts. */
export interface ImageConfiguration {
  readonly User: string
  readonly Env: ReadonlyArray<string>
  readonly Entrypoint: ReadonlyArray<string>
  readonly Cmd: ReadonlyArray<string>
  readonly Volumes: Readonly<Record<string, object>>
  readonly ExposedPorts: Readonly<Record<string, object>>
  readonly Healthcheck: { readonly Test: ReadonlyArray<string> }
  readonly StopSignal: string
}

/** Debian's builder of images, with a store of its own. Needs root and no daemon. */
export interface Buildah {
  /** Makes an image of a root, under the name of a public one, so that no registry is asked for it. */
  readonly importRoot: (root: string, name: string) => Promise<void>
  readonly build: (containerfile: string, context: string, name: string) => Promise<void>
  readonly inspect: (name: string) => Promise<ImageConfiguration>
  /** Directory of a new container's root, which lasts as long as the store. */
  readonly mount: (name: string) => Promise<string>
}

/** Unpacks buildah below `directory`, without an installation. Fails without network, or when apt has never fetched its lists. */
export const openBuildah = async (directory: string): Promise<Buildah> => {
  const programs = join(directory, "programs")
  await unpackDebianPackages(programs, ["buildah", "libassuan0"])
  for (const name of ["store", "run"]) mkdirSync(join(directory, name))
  const policy = join(directory, "policy.json")
  writeFileSync(policy, JSON.stringify({ default: [{ type: "insecureAcceptAnything" }] }))
  const registries = join(directory, "registries.conf")
  writeFileSync(registries, "unqualified-search-registries = []\n")
  const options = ["--root", join(directory, "store"), "--runroot", join(directory, "run"), "--storage-driver", "vfs"]
  const environment = { ...process.env, CONTAINERS_REGISTRIES_CONF: registries, BUILDAH_ISOLATION: "chroot" }
  // Within this namespace of mounts, the programs are where an installation would place them.
  const script = `mount -t overlay overlay -o lowerdir=${programs}/usr:/usr /usr\nexec buildah "$@"`
  const buildah = async (...args: ReadonlyArray<string>): Promise<string> => {
    const { stdout } = await run("unshare", ["--mount", "sh", "-ec", script, "sh", ...options, ...args], {
      env: environment,
      maxBuffer: 2 ** 26
    })
    return stdout.trim()
  }
  await buildah("--version")
  const signatures = `--signature-policy=${policy}`
  const from = (name: string) => buildah("from", signatures, "--pull-never", name)
  return {
    importRoot: async (root, name) => {
      const container = await from("scratch")
      await buildah("copy", "--quiet", container, root, "/")
      await buildah("commit", signatures, "--quiet", "--rm", container, name)
    },
    build: async (containerfile, context, name) => {
      // The format of Docker keeps the health check, which that of OCI lacks.
      await buildah("build", signatures, "--pull-never", "--format=docker", "--file", containerfile, "--tag", name, context)
    },
    inspect: async (name) => JSON.parse(await buildah("inspect", "--type=image", name)).Docker.config,
    mount: async (name) => buildah("mount", await from(name))
  }
}
