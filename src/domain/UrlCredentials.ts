/** The user name and password of a URL in a text. A password may hold an `@`. */
const credentials = /(?<=\/\/)[^/?#\s]*@/g

export const hasCredentials = (url: string): boolean => url.search(credentials) >= 0

/** The text with `***` in place of the user names and passwords of its URLs. */
export const maskCredentials = (text: string): string => text.replace(credentials, "***@")
