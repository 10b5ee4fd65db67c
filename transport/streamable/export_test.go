package streamable

// EncodeHeader writes any value as one that a header can hold.
var EncodeHeader = encodeHeader
