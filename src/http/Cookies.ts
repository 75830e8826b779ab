/** Maximum characters of a Cookie header that Windhover reads. */
const maxHeaderLength = 8192

/** The value of a cookie; undefined without one. With two cookies of the name, none counts, because one of them may be planted. */
export const readCookie = (header: string | undefined, name: string): string | undefined => {
  if (header === undefined || header.length > maxHeaderLength) return undefined
  const values = header.split(";").map((pair) => pair.trim()).filter((pair) => pair.startsWith(`${name}=`))
  return values.length === 1 ? values[0]?.slice(name.length + 1) : undefined
}

/** A Set-Cookie header of a cookie that no script reads and no other site sends; `Lax`: a link of another site does. An age of 0 removes it. */
export const formatCookie = (
  name: string,
  value: string,
  maxAgeSeconds: number,
  isSecure: boolean,
  sameSite: "Strict" | "Lax" = "Strict"
): string =>
  `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${sameSite}${isSecure ? "; Secure" : ""}`
