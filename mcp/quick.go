package mcp

import (
	"encoding/json"
	"slices"

	"mcpwire/internal/jsonscan"
)

// QuickCallToolResult reads the JSON value that is the whole of data as Decode does, in one pass and without
// reflection. It returns false for what it does not read for certain as Decode would, such as members that occur twice,
// broken text and blocks that are null or empty. The result shares its memory with its first block.
func QuickCallToolResult(data []byte) (*CallToolResult, bool) {
	all := new(struct {
		result CallToolResult
		first  [1]Content
	})
	return &all.result, quickCall(data, &all.result, all.first[:0])
}

// quickCall reads a result. Its blocks begin with those given.
func quickCall(data []byte, result *CallToolResult, blocks []Content) bool {
	c := jsonscan.NewCursor(data)
	var once members
	c.Object()
	for {
		key, ok := c.Key()
		if !ok {
			return c.Ended()
		}
		known := true
		switch string(key) {
		case "content":
			known = once.add(0) && quickBlocks(&c, &result.Content, blocks)
		case "structuredContent":
			known = once.add(1)
			result.StructuredContent = append(json.RawMessage(nil), c.Raw()...) // null is a value
		case "isError":
			known = once.add(2)
			result.IsError = c.Bool()
		case "resultType":
			known = once.add(3)
			result.ResultType = c.Text()
		case "_meta":
			known = once.add(4)
			result.Meta = (*raws)(nil).take(&c)
		default:
			c.Raw()
		}
		if !known {
			return false
		}
	}
}

// QuickListToolsResult is to ListToolsResult what QuickCallToolResult is to CallToolResult. It reads the tools and the
// cursor into result, which is zero and to be thrown away if it fails, and passes over the other members. Tools that
// stand beside each other may share pieces of memory, of up to 64 KiB for schemas, 16 KiB for texts and 2 KiB for
// annotations.
func QuickListToolsResult(data []byte, result *ListToolsResult) bool {
	c := jsonscan.NewCursor(data)
	var once members
	c.Object()
	for {
		key, ok := c.Key()
		if !ok {
			return c.Ended()
		}
		known := true
		switch string(key) {
		case "tools":
			known = once.add(0) && quickTools(&c, &result.Tools, len(data))
		case "nextCursor":
			known = once.add(1)
			if c.Kind() == 'n' {
				c.Raw()
				break
			}
			cursor := c.Text()
			result.NextCursor = &cursor
		default:
			c.Raw()
		}
		if !known {
			return false
		}
	}
}

func quickTools(c *jsonscan.Cursor, tools *[]Tool, size int) bool {
	if c.Kind() == 'n' {
		c.Raw()
		return true
	}
	*tools = []Tool{}
	from := toolMemory{schemas: raws{total: size}}
	c.Array()
	for c.Next() {
		before, saved := *c, from.schemas
		*tools = append(moreTools(*tools, size, c.Left()), Tool{})
		tool := &(*tools)[len(*tools)-1]
		if quickTool(c, tool, &from) {
			continue
		}
		*c, *tool, from.schemas = before, Tool{}, saved
		if text := c.Raw(); !c.Good() || text[0] != '{' || Decode(text, tool) != nil {
			return false
		}
	}
	return c.Good()
}

const (
	// leastTool is what a tool takes in a list at least, in bytes, if it is to be of use: a guess gets no list much more
	// memory than it has text.
	leastTool = 128
	seenTools = 64 // after so many tools the length of the others is guessed
)

// moreTools makes room for one tool more. Once it has seen some it does so for as many as are likely to come.
func moreTools(tools []Tool, size, left int) []Tool {
	n := len(tools)
	switch {
	case n < cap(tools):
		return tools
	case n < seenTools:
		return slices.Grow(tools, min(3*n+1, 1+left/leastTool))
	}
	each := max(leastTool, (size-left)/n)
	return slices.Grow(tools, max(n/4, 1+left/each))
}

// toolMemory is what tools of one list share.
type toolMemory struct {
	schemas raws
	texts   jsonscan.Texts
	hints   []hints
}

// hints are annotations, and what they point to.
type hints struct {
	ToolAnnotations

	readOnly, destructive, idempotent, openWorld bool
}

// hintsPiece is how many annotations share a piece of memory.
const hintsPiece = 32

func quickTool(c *jsonscan.Cursor, tool *Tool, from *toolMemory) bool {
	var once members
	c.Object()
	for {
		key, ok := c.Key()
		if !ok {
			break
		}
		known := false
		switch string(key) {
		case "name":
			known = once.add(0)
			tool.Name = c.TextIn(&from.texts)
		case "title":
			known = once.add(1)
			tool.Title = c.TextIn(&from.texts)
		case "description":
			known = once.add(2)
			tool.Description = c.TextIn(&from.texts)
		case "inputSchema":
			known = once.add(3)
			tool.InputSchema = from.schemas.take(c)
		case "outputSchema":
			known = once.add(4)
			tool.OutputSchema = from.schemas.take(c)
		case "annotations":
			known = once.add(5) && quickToolAnnotations(c, tool, from)
		case "_meta":
			known = once.add(6)
			tool.Meta = from.schemas.take(c)
		}
		if !known {
			return false
		}
	}
	if tool.InputSchema == nil {
		tool.InputSchema = json.RawMessage(anyObject)
	}
	return c.Good()
}

func quickToolAnnotations(c *jsonscan.Cursor, tool *Tool, from *toolMemory) bool {
	if len(from.hints) == cap(from.hints) { // the first few are not shared, since there may be no more
		from.hints = make([]hints, 0, min(hintsPiece, 2*cap(from.hints)+1))
	}
	from.hints = append(from.hints, hints{})
	all := &from.hints[len(from.hints)-1]
	var once members
	c.Object()
	for {
		key, ok := c.Key()
		if !ok {
			tool.Annotations = &all.ToolAnnotations
			return c.Good()
		}
		known := false
		switch string(key) {
		case "title":
			known = once.add(0)
			all.Title = c.TextIn(&from.texts)
		case "readOnlyHint":
			known = once.add(1)
			all.readOnly, all.ReadOnlyHint = c.Bool(), &all.readOnly
		case "destructiveHint":
			known = once.add(2)
			all.destructive, all.DestructiveHint = c.Bool(), &all.destructive
		case "idempotentHint":
			known = once.add(3)
			all.idempotent, all.IdempotentHint = c.Bool(), &all.idempotent
		case "openWorldHint":
			known = once.add(4)
			all.openWorld, all.OpenWorldHint = c.Bool(), &all.openWorld
		}
		if !known {
			return false
		}
	}
}

// raws copies values that stay raw into memory that several of them share. A nil one gives each its own.
type raws struct {
	free  []byte
	total int // the size in bytes of all that may come
}

// rawsPiece is how much memory raw values share at most, in bytes: so much is kept alive by any one of them.
const rawsPiece = 64 << 10

// take copies the next value. Its capacity ends with it; null counts as absent.
func (r *raws) take(c *jsonscan.Cursor) json.RawMessage {
	value := c.Raw()
	switch {
	case len(value) == 0 || string(value) == "null":
		return nil
	case r == nil || len(value) > rawsPiece/8:
		return append(json.RawMessage(nil), value...)
	case len(value) > len(r.free):
		most := min(rawsPiece, r.total, 16*len(value)) // most of what may come may be something else
		r.free = make([]byte, max(most, len(value)))
	}
	r.total -= len(value)
	n := copy(r.free, value)
	taken := r.free[:n:n]
	r.free = r.free[n:]
	return taken
}

// members is the set of the members that an object has had.
type members uint16

// add reports whether a member is new.
func (m *members) add(n uint) bool {
	before := *m
	*m |= 1 << n
	return *m != before
}

func quickBlocks(c *jsonscan.Cursor, blocks *[]Content, none []Content) bool {
	if c.Kind() == 'n' {
		c.Raw()
		return true
	}
	*blocks = none
	c.Array()
	for c.Next() {
		*blocks = append(*blocks, Content{})
		if !quickBlock(c, &(*blocks)[len(*blocks)-1]) {
			return false
		}
	}
	return c.Good()
}

// quickBlock reads text, images and audio itself, and leaves the rest to Decode.
func quickBlock(c *jsonscan.Cursor, block *Content) bool {
	before := *c
	if quickPlain(c, block) {
		return true
	}
	*c, *block = before, Content{}
	text := c.Raw()
	return c.Good() && text[0] == '{' && Decode(text, block) == nil && (block.Type != "" || len(block.Extra) > 0)
}

func quickPlain(c *jsonscan.Cursor, block *Content) bool {
	var once members
	c.Object()
	for {
		key, ok := c.Key()
		if !ok {
			return c.Good() && block.Type != ""
		}
		known := false
		switch string(key) {
		case "type":
			block.Type = quickKind(c.Raw())
			known = once.add(0) && block.Type != ""
		case "text":
			known = once.add(1)
			block.Text = c.Text()
		case "data":
			known = once.add(2)
			block.Data = c.Text()
		case "mimeType":
			known = once.add(3)
			block.MIMEType = c.Text()
		case "annotations":
			known = once.add(4) && Decode(c.Raw(), &block.Annotations) == nil
		case "_meta":
			known = once.add(5)
			block.Meta = (*raws)(nil).take(c)
		}
		if !known {
			return false
		}
	}
}

// quickKind returns the kind of content that quickBlock reads, and nothing for others.
func quickKind(quoted []byte) string {
	switch string(quoted) {
	case `"text"`:
		return ContentText
	case `"image"`:
		return ContentImage
	case `"audio"`:
		return ContentAudio
	}
	return ""
}
