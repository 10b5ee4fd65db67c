package tracing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpwire/internal/tracing"
)

func moment(t *testing.T, text string) tracing.Moment {
	t.Helper()
	m, err := tracing.ParseMoment(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAFilterChoosesEventsAndCalls(t *testing.T) {
	b, items := read(
		t,
		`{'event':'opening'}`, // 0
		onWeb(sent(`'id':1,'method':'tools/call','params':{'name':'add','_meta':{'progressToken':5}}`), 1),      // 1
		onWeb(sent(`'id':'x','method':'tools/list'`), 2),                                                        // 2
		`{'event':'http','exchange':1,'http':{'method':'POST','url':'u','status':200}}`,                         // 3
		received(`'method':'notifications/progress','params':{'progressToken':5}`),                              // 4
		received(`'id':1,'result':{}`),                                                                          // 5
		`{'event':'received','message':[{'jsonrpc':'2.0','id':'x','result':1},{'jsonrpc':'2.0','method':'n'}]}`, // 6
		`{'event':'stderr','server':'other','text':'x'}`,                                                        // 7
		`{'event':'opening'}`, // 8
	)
	for _, row := range []struct {
		name   string
		filter tracing.Filter
		events []int
		calls  int
	}{
		{"all", tracing.Filter{}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, 2},
		{"a server", tracing.Filter{Server: "ot*"}, []int{7}, 0},
		{"a line", tracing.Filter{Server: "s#2"}, []int{8}, 0},
		{"a method", tracing.Filter{Method: "tools/call"}, []int{1, 3, 4, 5}, 1},
		{"methods", tracing.Filter{Method: "tools/*"}, []int{1, 2, 3, 4, 5, 6}, 2},
		{"a star crosses slashes", tracing.Filter{Method: "t*l"}, []int{1, 3, 4, 5}, 1},
		{"what it is about", tracing.Filter{Method: "tools/call a*"}, []int{1, 3, 4, 5}, 1},
		{"a notification", tracing.Filter{Method: "notifications/*"}, []int{4}, 0},
		{"one in a batch", tracing.Filter{Method: "n"}, []int{6}, 0},
		{"an id", tracing.Filter{ID: "1"}, []int{1, 3, 4, 5}, 1},
		{"a string", tracing.Filter{ID: "x"}, []int{2, 6}, 1},
		{"a string with its quotes", tracing.Filter{ID: `"x"`}, []int{2, 6}, 1},
		{"since and until", tracing.Filter{Since: moment(t, "2ms"), Until: moment(t, "4ms")}, []int{2, 3, 4}, 1},
		{"a time of the day", tracing.Filter{Since: moment(t, "12:00:00.006")}, []int{6, 7, 8}, 0},
		{"a time of the day without seconds", tracing.Filter{Until: moment(t, "11:59")}, nil, 0},
		{"a whole time", tracing.Filter{Until: moment(t, "2026-07-28T14:00:00.001+02:00")}, []int{0, 1}, 1},
	} {
		var events []int
		for _, i := range items {
			if row.filter.Event(i, b.Start) {
				events = append(events, i.Index)
			}
		}
		calls := 0
		for _, c := range b.Calls {
			if row.filter.Call(c, b.Start) {
				calls++
			}
		}
		if !slices.Equal(events, row.events) || calls != row.calls {
			t.Errorf("%s: got the events %v and %d calls", row.name, events, calls)
		}
	}
}

func TestWhatNoFilterUnderstandsIsAnError(t *testing.T) {
	for _, text := range []string{"", "5", "yesterday", "25:00"} {
		if _, err := tracing.ParseMoment(text); err == nil {
			t.Errorf("%q is a moment", text)
		}
	}
	for _, f := range []tracing.Filter{{Server: "[a"}, {Method: "tools/[a"}} {
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), "[a") {
			t.Errorf("%+v: got %v", f, err)
		}
	}
}

func TestASummaryCounts(t *testing.T) {
	lines := []string{`{'event':'opening'}`, `{'event':'opened','carrier':'stdio','ms':1.5}`}
	for i := range 100 { // calls that take 1, 2, 3, ... ms
		lines = append(lines, fmt.Sprintf(`{'time':'2026-07-28T12:00:01Z','event':'sent','message':{'jsonrpc':'2.0','id':%d,'method':'tools/call','params':{'name':'t%d'}}}`, i, i%2))
	}
	for i := range 100 {
		lines = append(lines, fmt.Sprintf(`{'time':'2026-07-28T12:00:01.%03dZ','event':'received','message':{'jsonrpc':'2.0','id':%d,'result':{}}}`, i+1, i))
	}
	lines = append(lines, sent(`'id':900,'method':'ping'`), sent(`'id':901,'method':'ping'`),
		received(`'id':901,'error':{'code':1,'message':'x'}`), received(`'id':902,'result':{}`),
		received(`'method':'n'`), `{'event':'noise'}`, `{'event':'stderr'}`, `{'event':'fault'}`, `{'event':'oversize'}`,
		`{'event':'http','http':{'method':'POST','url':'u','status':500}}`,
		`{'event':'exited','exit':{'code':3}}`, `{'event':'closed','error':'gone'}`)
	b, items := read(t, lines...)
	c := tracing.NewCounter(tracing.Filter{})
	for _, i := range items {
		c.Add(i, b.Start)
	}
	s := c.Summary(b)
	got := s.Lines[0]
	if s.Events != len(lines) || len(s.Lines) != 1 || len(got.Methods) != 2 {
		t.Fatalf("got %+v with %+v", s, got)
	}
	if got.Errors != 1 || got.HTTPErrors != 1 || got.Faults != 1 || got.Noise != 1 || got.Oversize != 1 || got.Stderr != 1 ||
		got.Unanswered != 1 || got.Orphans != 1 || got.Exit.Code != 3 || *got.Opened != 1.5 || got.End != "lost: gone" {
		t.Errorf("got %+v", got)
	}
	if o, i := got.Out, got.In; o.Requests != 102 || o.Messages != 102 || i.Responses != 102 || i.Notifications != 1 ||
		i.Messages != 103 || i.Bytes < 1000 {
		t.Errorf("got %+v and %+v", o, i)
	}
	m := got.Methods[1]
	if m.Calls != 100 || *m.P50 != 50 || *m.P90 != 90 || *m.P99 != 99 || *m.Max != 100 || len(m.Names) != 2 {
		t.Errorf("got %+v", m)
	}
	if want := []int{0, 2, 7, 20, 70, 1, 0, 0, 0, 0}; !slices.Equal(m.Histogram, want) {
		t.Errorf("got %v", m.Histogram)
	}
	if one := m.Names[0]; one.Name != "t0" || one.Calls != 50 || *one.Max != 99 {
		t.Errorf("got %+v", one)
	}
	if m := got.Methods[0]; m.Method != "ping" || m.Calls != 2 || m.Errors != 1 || m.Unanswered != 1 || m.Names != nil {
		t.Errorf("got %+v", m)
	}
}
