package cli_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// runAskingServer is a server of the session era whose tool "ask" does what a file tells, line by line:
//
//	{"id":…}        a request or notification to the client, without its "jsonrpc"
//	answer          waits for the next answer of the client
//	file NAME       waits until there is such a file
//	say TEXT        adds a line to the result
//	refuse ERROR    ends the call; the next one goes on behind
//
// Variables of its environment are put in, such as ${API_KEY}.
// The result has what the client has answered, one line each. If the call is cancelled, standard error tells.
func runAskingServer() {
	script, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail(err)
	}
	answers, calls := make(chan string), make(chan string)
	go serveCalls(os.ExpandEnv(string(script)), calls, answers)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		m := read(in.Bytes())
		switch method := strings.Trim(m["method"], `"`); {
		case method == "initialize":
			fmt.Fprintln(os.Stderr, "capabilities", read([]byte(m["params"]))["capabilities"])
			respond(m["id"], `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"liar","version":"1"}}`)
		case method == "tools/list":
			respond(m["id"], `{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}`)
		case method == "tools/call":
			calls <- m["id"]
		case method == "notifications/cancelled":
			fmt.Fprintln(os.Stderr, "the call is cancelled")
		case method == "" && m["id"] != "":
			answers <- m["result"] + m["error"]
		case m["id"] != "":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no %s here"}}`+"\n", m["id"], method)
		}
	}
}

func respond(id, result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result) }

func serveCalls(script string, calls, answers <-chan string) {
	for id := range calls {
		var result strings.Builder
		refusal := ""
		for script != "" && refusal == "" {
			line, behind, _ := strings.Cut(script, "\n")
			script = behind
			word, rest, _ := strings.Cut(line, " ")
			switch word {
			case "answer":
				fmt.Fprintln(&result, <-answers)
			case "say":
				fmt.Fprintln(&result, rest)
			case "file":
				for _, err := os.Stat(rest); err != nil; _, err = os.Stat(rest) {
					time.Sleep(10 * time.Millisecond) // as a shell would
				}
			case "refuse":
				refusal = rest
			default:
				fmt.Println(`{"jsonrpc":"2.0",` + strings.TrimPrefix(line, "{"))
			}
		}
		if refusal != "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":%s}`+"\n", id, refusal)
			continue
		}
		respond(id, `{"content":[{"type":"text","text":`+quote(result.String())+`}]}`)
	}
}
