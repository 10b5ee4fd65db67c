package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serverWord is what the test binary is called with to be a server.
const serverWord = "be-the-server"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serverWord {
		if err := server().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// server has the tools that workloads call.
func server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	said := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	type echo struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(
		_ context.Context, _ *mcp.CallToolRequest, in echo,
	) (*mcp.CallToolResult, any, error) {
		return said(in.Text), nil, nil
	})
	type blob struct {
		N int `json:"n"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "blob"}, func(
		_ context.Context, _ *mcp.CallToolRequest, in blob,
	) (*mcp.CallToolResult, any, error) {
		return said(strings.Repeat("b", in.N)), nil, nil
	})
	return s
}

func TestEachWorkloadIsMeasured(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server() }, nil))
	defer web.Close()
	for _, carrier := range [][]string{
		{"-transport", "stdio", "-server", exe + " " + serverWord},
		{"-transport", "http", "-url", web.URL},
		{"-transport", "http", "-url", web.URL, "-listen"},
	} {
		for _, row := range []struct {
			args []string
			has  func(r report) bool
		}{
			{[]string{"-kind", "call", "-c", "4"}, func(r report) bool { return r.OpsPerS > 0 && r.P99 >= r.P50 && r.Allocs > 1 }},
			{[]string{"-kind", "blob", "-size", "100000"}, func(r report) bool { return r.MBPerS > 0 && r.CPU > 0 }},
			{[]string{"-kind", "list", "-tools", "2"}, func(r report) bool { return r.Ops > 0 && r.Seconds > 0 }},
			{[]string{"-kind", "startup", "-conns", "2", "-reps", "2"}, func(r report) bool { return r.Wall > 0 && r.Ops == 2 }},
			{[]string{"-kind", "idle", "-conns", "3"}, func(r report) bool { return r.Ops == 3 && r.Goroutines > 0 }},
		} {
			args := slices.Concat(row.args, []string{"-id", "it", "-seconds", "0.05", "-warmup", "0.01"}, carrier)
			t.Run(strings.Join(args[:2], " ")+" "+strings.Join(carrier[1:2], " "), func(t *testing.T) {
				var out, problems bytes.Buffer
				status := run(args, &out, &problems)
				var r report
				if err := json.Unmarshal(out.Bytes(), &r); err != nil || status != 0 || r.ID != "it" || !row.has(r) {
					t.Errorf("%v: status %d, %s%s", args, status, out.String(), problems.String())
				}
			})
		}
	}
}

func TestWhatIsWrongIsReported(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"-kind", "list", "-tools", "9", "-server", exe + " " + serverWord}, "2 tools are listed, not 9"},
		{[]string{"-kind", "nothing"}, `unknown kind \"nothing\"`},
		{[]string{"-server", ""}, "-server is missing"},
	} {
		var out, problems bytes.Buffer
		if status := run(row.args, &out, &problems); status != 1 || !strings.Contains(out.String(), row.want) {
			t.Errorf("%v: status %d, %s%s", row.args, status, out.String(), problems.String())
		}
	}
}
