/** Maximum characters of the address of a page after a sign-in. */
const maxLength = 2048

/** A page of the dashboard, and no address of another site. A header holds ASCII alone. */
const isOwnPage = (path: string): boolean =>
  path.length <= maxLength && /^\/dashboard(?:[/?][!-~]*)?$/.test(path) && !/\\|\/\//.test(path)

/** The page after a sign-in: the wanted one, or the overview in place of another address. */
export const ownPage = (wanted: string | undefined): string =>
  wanted !== undefined && isOwnPage(wanted) ? wanted : "/dashboard"
