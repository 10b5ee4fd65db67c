// Package mcp holds the vocabulary of the Model Context Protocol: methods, params, results, content and capabilities
// of every revision from 2024-11-05 to 2026-07-28. It is pure data. One type serves all revisions: a member that a
// revision doesn't have stays at its zero value and is left out when the type is encoded. Which revision allows which
// member is said where it matters.
//
// Decode and Encode are the way in and out; they set what the json package needs to know to be lenient with servers.
//
//   - Names are matched by case. Members that no revision knows are passed over; Content and the capabilities keep them
//     in Extra. Values that no revision knows are kept as they are.
//   - What belongs to somebody else (schemas, arguments, structured content, _meta, progress tokens, the data of log
//     messages) is a json.RawMessage, byte for byte as it came and in memory of its own. nil is absent.
//   - Numbers of the protocol itself are float64, also where the schemas say integer: servers write 1024.0 and 1e3 too,
//     and integers up to 2^53 are exact. Numbers in raw payloads keep their digits.
//   - A pointer is used where absent differs from the zero value.
//
// Values are safe for concurrent use as long as nobody writes to them.
package mcp
