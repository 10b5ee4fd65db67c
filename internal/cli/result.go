package cli

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/mcp"
)

// resultText shows a tool's result: text as it is, other content as one line that tells what it is, and structured
// content unless a text holds the same JSON (2025-11-25, tools, structured content).
func resultText(r *mcp.CallToolResult) string {
	var b strings.Builder
	told := false
	for i := range r.Content {
		c := &r.Content[i]
		b.WriteString(line(contentText(c)))
		told = told || c.Type == mcp.ContentText && sameJSON([]byte(c.Text), r.StructuredContent)
	}
	if len(r.StructuredContent) > 0 && !told && !(string(r.StructuredContent) == "null" && b.Len() > 0) {
		b.WriteString(line(pretty(r.StructuredContent)))
	}
	return b.String()
}

// line returns text with a line feed at its end.
func line(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

func contentText(c *mcp.Content) string {
	switch c.Type {
	case mcp.ContentText:
		return c.Text
	case mcp.ContentImage, mcp.ContentAudio:
		data, err := c.Bytes()
		return blobLine(c.Type, c.MIMEType, data, err)
	case mcp.ContentResource:
		return resourceText(c.Resource)
	case mcp.ContentResourceLink:
		return linkLine(c)
	}
	return bracketed("content of type "+c.Type, "not shown; --output json has it")
}

// resourceText shows an embedded resource: its text behind a line that tells what it is.
func resourceText(r *mcp.ResourceContents) string {
	switch {
	case r == nil:
		return bracketed("resource", "empty")
	case r.Text != nil:
		return bracketed("resource "+r.URI, r.MIMEType) + "\n" + *r.Text
	case r.Blob != nil:
		data, err := r.Bytes()
		return blobLine("resource "+r.URI, r.MIMEType, data, err)
	}
	return bracketed("resource "+r.URI, r.MIMEType, "empty")
}

func linkLine(c *mcp.Content) string {
	size := ""
	if c.Size != nil {
		size = byteSize(*c.Size)
	}
	text := bracketed("link "+c.URI, firstLine(c.Title, c.Name), c.MIMEType, size)
	if about := firstLine(c.Description); about != "" {
		text += " " + about
	}
	return text
}

func blobLine(what, mimeType string, data []byte, err error) string {
	if err != nil {
		return bracketed(what, mimeType, "not valid base64")
	}
	return bracketed(what, mimeType, byteSize(float64(len(data))))
}

// bracketed returns "[a, b]" of the parts that are there.
func bracketed(parts ...string) string {
	var have []string
	for _, p := range parts {
		if p != "" {
			have = append(have, p)
		}
	}
	return "[" + strings.Join(have, ", ") + "]"
}

// byteSize shows a number of bytes: "12 bytes", "3.4 KiB".
func byteSize(n float64) string {
	if n < 1024 {
		return fmt.Sprintf("%.0f bytes", n)
	}
	for _, unit := range []string{"KiB", "MiB"} {
		if n /= 1024; n < 1024 {
			return fmt.Sprintf("%.1f %s", n, unit)
		}
	}
	return fmt.Sprintf("%.1f GiB", n/1024)
}

// pretty indents JSON; strings and digits stay as they are.
func pretty(text []byte) string {
	v := jsontext.Value(text).Clone()
	if err := v.Indent(jsontext.WithIndent("  "), jsontext.PreserveRawStrings(true)); err != nil {
		return string(text)
	}
	return string(v)
}
