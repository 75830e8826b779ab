/** Event of a response whose connection a stream has taken: the server sends no other response there. */
export const takenEvent = "windhover:taken"
