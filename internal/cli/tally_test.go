package cli_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// runTally is a server that writes what it is asked to do into a file, one line each, before it answers. Its tools are
// "run" and "look", which says that it is read-only; "do" in the arguments of a call says what the call comes to: "hang",
// "die", "fail" or "refuse", or else a result that repeats the arguments. A call that is cancelled is written down as
// "cancelled".
func runTally() {
	file, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fail(err)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		m := read(in.Bytes())
		switch strings.Trim(m["method"], `"`) {
		case "initialize":
			answer(in.Bytes(), map[string]string{
				"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tally","version":"1"}}`,
			})
		case "tools/list":
			answer(in.Bytes(), map[string]string{"tools/list": `{"tools":[{"name":"run","inputSchema":{"type":"object"}},` +
				`{"name":"look","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}`})
		case "tools/call":
			tally(file, in.Bytes(), read([]byte(m["params"]))["arguments"])
		case "notifications/cancelled":
			fmt.Fprintln(file, "cancelled")
		default:
			answer(in.Bytes(), nil)
		}
	}
}

func tally(file *os.File, message []byte, arguments string) {
	fmt.Fprintln(file, arguments)
	result := `{"content":[{"type":"text","text":ARGUMENTS}]}`
	switch strings.Trim(read([]byte(arguments))["do"], `"`) {
	case "hang":
		return
	case "die":
		os.Exit(1)
	case "fail":
		result = `{"content":[{"type":"text","text":"it failed"}],"isError":true}`
	case "refuse":
		result = `error {"code":-32602,"message":"no such thing"}`
	}
	answer(message, map[string]string{"tools/call": result})
}
