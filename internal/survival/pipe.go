package survival

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// A Pipe is the far end of a line over pipes: the standard files of a server process.
type Pipe struct {
	in       *bufio.Reader
	Out, Err io.Writer
	Folder   string // see Trial.Folder
}

// folderVariable is where a server process finds its Folder.
const folderVariable = "MCPWIRE_SURVIVAL_FOLDER"

// Note notes something for Trial.Noted. It is kept when the process dies.
func (p *Pipe) Note(what string) {
	file, err := os.OpenFile(notes(p.Folder), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(file, what+"\n") // a note that is missing is noticed
	_ = file.Close()
}

// Count notes something, and returns how often that has been noted.
func (p *Pipe) Count(what string) int {
	p.Note(what)
	return p.Noted(what)
}

// Noted counts what this and earlier lives of the server have noted.
func (p *Pipe) Noted(what string) int { return strings.Count(readNotes(p.Folder), what+"\n") }

func notes(folder string) string { return filepath.Join(folder, "notes") }

func readNotes(folder string) string {
	text, _ := os.ReadFile(notes(folder)) // there may be none
	return string(text)
}

// Serve plays the server of the row of that name on the given files. It is what Runner.Self must lead to.
func Serve(name string, in io.Reader, out, err io.Writer) error {
	for _, row := range join(pipeRows(), manyRows()) { // those on the web are of no use here, and cost time
		if row.Name == name && row.Pipe != nil {
			row.Pipe(&Pipe{in: bufio.NewReader(in), Out: out, Err: err, Folder: os.Getenv(folderVariable)})
			return nil
		}
	}
	return fmt.Errorf("there is no server %q in the catalogue", name)
}

// Read waits for a message of the client; false: there will be none.
func (p *Pipe) Read() (jsonrpc.Message, bool) {
	for {
		line, err := p.in.ReadBytes('\n')
		if err != nil {
			return jsonrpc.Message{}, false
		}
		if m, err := jsonrpc.Parse(line); err == nil {
			return m, true
		}
	}
}

// Write writes text as it is.
func (p *Pipe) Write(format string, args ...any) { _, _ = fmt.Fprintf(p.Out, format, args...) }

// Answer writes the result of a request.
func (p *Pipe) Answer(m jsonrpc.Message, result string) { p.Write("%s\n", answer(m, result)) }

// answers has a method answered with the same result each time.
func (p *Pipe) answers(result string) on {
	return func(m jsonrpc.Message) bool {
		p.Answer(m, result)
		return true
	}
}

// Refuse writes an error for a request.
func (p *Pipe) Refuse(m jsonrpc.Message, code int, text string) {
	p.Write("%s\n", refusal(m, code, text))
}

// Serve is an honest server of 2025-11-25, but for the methods in other: those report false to end the server.
func (p *Pipe) Serve(other map[string]func(m jsonrpc.Message) bool) {
	for {
		m, ok := p.Read()
		if !ok {
			return
		}
		if f := other[m.Method]; f != nil {
			if !f(m) {
				return
			}
			continue
		}
		if text := honest(m); text != "" {
			p.Write("%s\n", text)
		}
	}
}

// honest is the answer of an honest server of 2025-11-25 with the tool echo; empty where none is due.
func honest(m jsonrpc.Message) string {
	if m.Kind != jsonrpc.Request {
		return ""
	}
	switch m.Method {
	case mcp.MethodInitialize:
		return answer(m, handshake)
	case mcp.MethodPing:
		return answer(m, `{}`)
	case mcp.MethodListTools:
		return answer(m, toolList)
	case mcp.MethodCallTool:
		return answer(m, Echo(m))
	}
	return refusal(m, jsonrpc.CodeMethodNotFound, "Method not found")
}

const (
	handshake = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
		`"serverInfo":{"name":"hostile","version":"1"}}`
	toolList = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}`
)

// Echo is the result of the tool echo: the argument text.
func Echo(m jsonrpc.Message) string {
	var p struct {
		Arguments struct {
			Text json.RawMessage `json:"text"`
		} `json:"arguments"`
	}
	if mcp.Decode(m.Params, &p) != nil || p.Arguments.Text == nil {
		p.Arguments.Text = json.RawMessage(`""`)
	}
	return `{"content":[{"type":"text","text":` + string(p.Arguments.Text) + `}]}`
}

func answer(m jsonrpc.Message, result string) string {
	return `{"jsonrpc":"2.0","id":` + m.ID.String() + `,"result":` + result + `}`
}

func refusal(m jsonrpc.Message, code int, text string) string {
	return `{"jsonrpc":"2.0","id":` + m.ID.String() + `,"error":{"code":` + strconv.Itoa(code) + `,"message":` +
		strconv.Quote(text) + `}}`
}
