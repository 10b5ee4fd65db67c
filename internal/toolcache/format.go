package toolcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/mcp"
)

// format is the version of the form of a file. It goes up when the form changes, and when mcp.Tool or
// mcp.Implementation gets a member, which entries of before can't have.
const format = 1

// A file has three parts: the SHA-256 of the other two in hexadecimal digits, on a line; an index, which is JSON on a
// line; and the raw members of the tools one behind the other, whose lengths stand in the index in their places. So
// nothing has to be parsed that was raw and stays raw, and it stays as it came, with its white space.
type index struct {
	Format       int                `json:"format"`
	Key          string             `json:"key"`
	Revision     string             `json:"revision"`
	Instructions string             `json:"instructions"`
	Info         mcp.Implementation `json:"info"`
	Tools        []indexedTool      `json:"tools"`
}

// plainTool has the members of a tool and none of its methods.
type plainTool mcp.Tool

// An indexedTool has lengths in bytes where a tool has raw members. 0 is absent, as no JSON value is empty.
type indexedTool struct {
	plainTool
	InputSchema  int `json:"inputSchema,omitzero"`
	OutputSchema int `json:"outputSchema,omitzero"`
	Meta         int `json:"_meta,omitzero"`
}

// each calls f for every raw member and its length, in the order of the file.
func (t *indexedTool) each(f func(length *int, raw *json.RawMessage)) {
	f(&t.InputSchema, &t.plainTool.InputSchema)
	f(&t.OutputSchema, &t.plainTool.OutputSchema)
	f(&t.Meta, &t.plainTool.Meta)
}

var options = jsonv2.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// encode returns the file of an entry, or an error if that is larger than MaxSize.
func encode(key string, e Entry) ([]byte, error) {
	head := index{
		Format: format, Key: key, Revision: e.Revision, Instructions: e.Instructions,
		Info: e.Info, Tools: make([]indexedTool, len(e.Tools)),
	}
	var raws []byte
	for i, tool := range e.Tools {
		head.Tools[i].plainTool = plainTool(tool)
		head.Tools[i].each(func(length *int, raw *json.RawMessage) {
			*length = len(*raw)
			raws = append(raws, *raw...)
		})
	}
	body, err := jsonv2.Marshal(head, options)
	if err != nil {
		return nil, err
	}
	if size := hex.EncodedLen(sha256.Size) + len("\n\n") + len(body) + len(raws); size > MaxSize {
		return nil, fmt.Errorf("the server's tools take %d bytes in the cache, more than %d", size, MaxSize)
	}
	body = append(append(body, '\n'), raws...)
	return append([]byte(checksum(body)+"\n"), body...), nil
}

// decode returns the entry that text is, or false if it is damaged, of another format or for another key. The entry
// shares memory with text.
func decode(key string, text []byte) (Entry, bool) {
	sum, body, _ := bytes.Cut(text, []byte("\n"))
	if string(sum) != checksum(body) {
		return Entry{}, false
	}
	line, raws, _ := bytes.Cut(body, []byte("\n"))
	var head index
	if err := jsonv2.Unmarshal(line, &head, options); err != nil || head.Format != format || head.Key != key {
		return Entry{}, false
	}
	e := Entry{
		Tools: make([]mcp.Tool, len(head.Tools)), Revision: head.Revision, Instructions: head.Instructions,
		Info: head.Info,
	}
	whole := true
	for i := range head.Tools {
		head.Tools[i].each(func(length *int, raw *json.RawMessage) {
			if *length > len(raws) {
				whole = false
			} else if *length > 0 {
				*raw, raws = json.RawMessage(raws[:*length:*length]), raws[*length:]
			}
		})
		e.Tools[i] = mcp.Tool(head.Tools[i].plainTool)
	}
	if !whole || len(raws) > 0 {
		return Entry{}, false
	}
	return e, true
}

func checksum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
