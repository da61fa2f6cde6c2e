// An input that has no picture; the message is one line for the reader.
export class Problem extends Error {}
