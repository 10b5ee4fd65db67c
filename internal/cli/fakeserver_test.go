package cli_test

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"mcpwire/internal/jsonscan"
)

// runFakeServer serves what a file tells, line by line:
//
//	stderr TEXT          at the start
//	stdout TEXT          at the start
//	exit CODE            at the start, behind what stands above
//	METHOD RESULT        answers the method; tools/call:NAME for one tool, resources/read:URI for one resource
//	METHOD error ERROR   refuses it
//	after METHOD TEXT    writes TEXT behind the first answer to the method; of its lines "exit CODE" ends the server,
//	                     "now METHOD RESULT" changes an answer
//	METHOD never         does not answer it
//	hear METHOD          tells on standard error that a message of the method has come
//	when FILE MESSAGE    sends a message as soon as there is that file
//
// initialize is answered in any case; what no line names is refused with -32601.
func runFakeServer() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail(err)
	}
	answers := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
			`"serverInfo":{"name":"fake","version":"7"}}`,
	}
	heard := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "stderr":
			fmt.Fprintln(os.Stderr, rest)
		case "stdout":
			fmt.Fprintln(os.Stdout, rest)
		case "exit":
			code, err := strconv.Atoi(rest)
			if err != nil {
				fail(err)
			}
			os.Exit(code)
		case "after":
			method, text, _ := strings.Cut(rest, " ")
			answers["after "+method] += text + "\n"
		case "hear":
			heard[rest] = true
		case "when":
			go sendWhen(strings.Cut(rest, " "))
		default:
			answers[word] = rest
		}
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if method := strings.Trim(read(in.Bytes())["method"], `"`); heard[method] {
			fmt.Fprintln(os.Stderr, method)
		}
		answer(in.Bytes(), answers)
	}
}

// sendWhen sends a message when there is a file.
func sendWhen(file, message string, _ bool) {
	for {
		if _, err := os.Stat(file); err == nil {
			fmt.Fprintln(os.Stdout, message)
			return
		}
		time.Sleep(10 * time.Millisecond) // it is another process that waits
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "fakeserver:", err)
	os.Exit(1)
}

// answer answers one request. In an answer, ARGUMENTS stands for the arguments of a call as a JSON string.
func answer(message []byte, answers map[string]string) {
	m := read(message)
	id, method := m["id"], strings.Trim(m["method"], `"`)
	if id == "" {
		return
	}
	params := read([]byte(m["params"]))
	result, ok := answers[method+":"+strings.Trim(params["name"], `"`)]
	if !ok {
		result, ok = answers[method+":"+strings.Trim(params["uri"], `"`)]
	}
	if !ok {
		result, ok = answers[method]
	}
	result = strings.ReplaceAll(result, "ARGUMENTS", strconv.Quote(params["arguments"]))
	refusal, refused := strings.CutPrefix(result, "error ")
	switch {
	case result == "never":
	case !ok:
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no %s here"}}`+"\n", id, method)
	case refused:
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"error":%s}`+"\n", id, refusal)
	default:
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	}
	behind := answers["after "+method]
	delete(answers, "after "+method)
	for line := range strings.Lines(behind) {
		happen(strings.TrimSuffix(line, "\n"), answers)
	}
}

// happen does what stands behind "after METHOD".
func happen(line string, answers map[string]string) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "exit":
		code, err := strconv.Atoi(rest)
		if err != nil {
			fail(err)
		}
		os.Exit(code)
	case "now":
		method, result, _ := strings.Cut(rest, " ")
		answers[method] = result
	default:
		fmt.Fprintln(os.Stdout, line)
	}
}

func read(object []byte) map[string]string {
	members := map[string]string{}
	_ = jsonscan.Members(object, func(name, value []byte) error {
		members[string(name)] = string(value)
		return nil
	})
	return members
}
