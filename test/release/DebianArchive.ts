import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { closeSync, existsSync, lstatSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from "node:fs"
import { join, relative } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

/** An unpacked Debian package. */
export interface Archive {
  readonly directory: string
  /** Paths of all files and links, relative and sorted. */
  readonly files: ReadonlyArray<string>
  /** Fields of the control file; continuation lines keep their line breaks. */
  readonly control: Readonly<Record<string, string>>
  /** Lines of `dpkg-deb --contents`: mode, owner, size, time, path. */
  readonly listing: ReadonlyArray<string>
}

export const unpackArchive = async (file: string, directory: string): Promise<Archive> => {
  await run("dpkg-deb", ["--raw-extract", file, directory])
  const { stdout } = await run("dpkg-deb", ["--contents", file], { maxBuffer: 2 ** 26 })
  const control = readFileSync(join(directory, "DEBIAN/control"), "utf8")
  return {
    directory,
    files: readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
      .toSorted(),
    control: Object.fromEntries(
      Array.from(control.matchAll(/^(\S+): (.*(?:\n .*)*)/gm), ([, name = "", value = ""]) => [name, value])
    ),
    listing: stdout.trim().split("\n")
  }
}

const beginningOf = (file: string): Buffer => {
  const descriptor = openSync(file, "r")
  const bytes = Buffer.alloc(20)
  readSync(descriptor, bytes)
  closeSync(descriptor)
  return bytes
}

/** Numbers of ELF for machines. */
const machines: Readonly<Record<number, string>> = { 62: "amd64", 183: "arm64" }

/** Files of machine code with their machine, such as `usr/lib/windhover/bin/node: arm64`. */
export const findMachineCode = ({ directory, files }: Archive): ReadonlyArray<string> =>
  files.flatMap((path) => {
    const file = join(directory, path)
    if (!lstatSync(file).isFile()) return []
    const beginning = beginningOf(file)
    if (beginning.toString("latin1", 0, 4) === "\u007fELF") {
      return [`${path}: ${machines[beginning.readUInt16LE(18)] ?? "unknown"}`]
    }
    const isForeign = /\.(?:node|so|dylib|dll|exe|a)$/.test(path) || beginning.toString("latin1", 0, 2) === "MZ"
    return isForeign ? [`${path}: foreign`] : []
  })

const checksum = (file: string) => createHash("md5").update(readFileSync(file)).digest("hex")

/** Paths of files that only one of two packages has, or that differ. */
export const compareArchives = (one: Archive, other: Archive): ReadonlyArray<string> =>
  [...new Set([...one.files, ...other.files])].toSorted().filter((path) => {
    const [first, second] = [join(one.directory, path), join(other.directory, path)]
    return !existsSync(first) || !existsSync(second) || checksum(first) !== checksum(second)
  })

/** Rules of Debian's policy that the package breaks, one sentence each, as `lintian` would report them. */
export const findFaults = ({ control, directory, files, listing }: Archive): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const check = (isGood: boolean, fault: string) => isGood || faults.push(fault)
  const [synopsis = "", ...description] = (control["Description"] ?? "").split("\n")
  check(/^.+ <\S+@\S+>$/.test(control["Maintainer"] ?? ""), "The maintainer has no address.")
  check(synopsis.length > 0 && synopsis.length <= 80, "The synopsis has more than 80 characters.")
  check(!/^(?:an?|the) |\.$/i.test(synopsis), "The synopsis begins with an article, or ends with a full stop.")
  check(description.length > 0 && description.every((line) => line.length <= 80), "The description has long lines.")
  for (const name of ["Package", "Version", "Architecture", "Installed-Size", "Depends", "Section", "Priority"]) {
    check((control[name] ?? "") !== "", `The field ${name} is missing.`)
  }
  for (const line of listing) {
    const [mode = "", owner] = line.split(/\s+/)
    check(owner === "root/root", `An owner is not root: ${line}`)
    check(mode.startsWith("l") || !/[sStT]|^.{8}w/.test(mode), `A mode is unsafe: ${line}`)
  }
  for (const path of files) {
    const file = join(directory, path)
    check(
      /^(?:DEBIAN|etc\/windhover|usr\/(?:bin|lib\/(?:windhover|systemd)|share\/doc\/windhover))\//.test(path),
      `${path} is in a strange place.`
    )
    if (lstatSync(file).isSymbolicLink()) check(!readlinkSync(file).startsWith("/"), `${path} is an absolute link.`)
    else if ((lstatSync(file).mode & 0o111) !== 0) {
      check(/^(?:#!|\u007fELF)/.test(beginningOf(file).toString("latin1")), `${path} is executable, and no program.`)
    }
  }
  const sums = readFileSync(join(directory, "DEBIAN/md5sums"), "utf8").trim().split("\n")
  const conffiles = readFileSync(join(directory, "DEBIAN/conffiles"), "utf8").trim().split("\n")
  const content = files.filter((path) => !path.startsWith("DEBIAN/"))
  const summed = new Map(sums.map((line) => line.split("  ").toReversed() as [string, string]))
  for (const path of content) {
    const isSetting = conffiles.includes(`/${path}`)
    check(isSetting !== summed.has(path), `${path} has no checksum, or is a setting with one.`)
    if (!isSetting) check(summed.get(path) === checksum(join(directory, path)), `${path} has another checksum.`)
  }
  check(summed.size + conffiles.length === content.length, "Checksums or settings name files that are missing.")
  for (const script of ["postinst", "prerm", "postrm"]) {
    const file = join(directory, "DEBIAN", script)
    check(readFileSync(file, "utf8").startsWith("#!/bin/sh\nset -e\n"), `${script} does not stop at an error.`)
    check((lstatSync(file).mode & 0o777) === 0o755, `${script} is not executable.`)
  }
  check(content.includes("usr/share/doc/windhover/copyright"), "The copyright is missing.")
  return faults
}
