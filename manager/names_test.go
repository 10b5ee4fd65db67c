package manager_test

import (
	"regexp"
	"strings"
	"testing"

	"mcpwire/manager"
)

var safeName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// hashedName tells the names that end in a hash.
var hashedName = regexp.MustCompile(`_[2-7][a-z2-7]{11}$`)

func TestASafeNameIsOneThatModelsAccept(t *testing.T) {
	long := strings.Repeat("long_tool_", 12) // 120 characters
	for _, row := range []struct{ name, server, tool, want string }{
		{"plain", "github", "search_repositories", "github__search_repositories"},
		{"single underscores", "_my_server", "_my_tool_", "_my_server___my_tool_"},
		{"a tool with two underscores", "a", "b__c", "a__b__c"},
		{"digits only", "1", "2", "1__2"},
		{"hyphens only", "-", "-", "-__-"},
		{"just short enough", "server", strings.Repeat("t", 56), "server__" + strings.Repeat("t", 56)},

		{"a dot", "my server (prod)", "a.b", "my_server_prod__a_b_4c7hn7bsbx76"},
		{"a slash", "my server (prod)", "a/b", "my_server_prod__a_b_6zozgs6iuc5v"},
		{"an underscore", "my server (prod)", "a_b", "my_server_prod__a_b_32daexq46syy"},
		{"letters with diacritics", "my server (prod)", "Ünïcode tool", "my_server_prod__Unicode_tool_4ewinqe64jw2"},
		{"120 characters", "my server (prod)", long, "my_server_prod__long_tool_long_tool_long_tool_long_4tjy6flawhfh"},

		{"a dot in a tool of a plain server", "s", "calendar.list", "s__calendar_list_3tbwezawdd3c"},
		{"just too long", "server", strings.Repeat("t", 57), "server__ttttttttttttttttttttttttttttttttttttttttttt_2poiz3kjmz7j"},
		{"a long server", strings.Repeat("s", 60), "tool", "sssssssssssssssssssssssssssssssssssssssssssss__tool_4goahyevvp7o"},
		{"both long", strings.Repeat("s", 60), strings.Repeat("t", 60), "ssssssssssssssss__ttttttttttttttttttttttttttttttttt_2dydokupkgnn"},
		{"a cut before an underscore", "fifteen-letters_s", strings.Repeat("t", 60), "fifteen-letters__tttttttttttttttttttttttttttttttttt_7phvn5x6drtm"},
		{"a server with two underscores", "a__b", "c", "a__b__c_7hqgdtrxdk44"},
		{"a server that ends in an underscore", "a_", "b", "a__b_63byp2gbv5ro"},
		{"what looks like a hash", "a", "b_2abcdefghijk", "a__b_2abcdefghijk_5u3r3wh36xc3"},
		{"a tool that is a hash", "a", "2abcdefghijk", "a__2abcdefghijk_3wmavlcxi5km"},
		{"other letters", "сервер", "工具", "_4sa7c3jou47i"},
		{"other letters around ours", "сервер1", "工a具b", "1__a_b_44uf5bp7pfzf"},
		{"compatibility forms", "ﬁle①", "ｔｏｏｌ½", "file1__tool1_2_3iqxmn3cpyh3"},
		{"a combining mark alone", "s", "\u0301", "s_4o6wytxhcbxr"},
		{"no server", "", "tool", "tool_5aq7simdajwd"},
		{"no tool", "server", "", "server_2tusw2ibrpc4"},
		{"neither", "", "", "_2o2ftgh6yntw"},
		{"no server and a long tool", "", strings.Repeat("t", 70), "ttttttttttttttttttttttttttttttttttttttttttttttttttt_77smg6mnn57b"},
		{"invalid UTF-8", "s", "a\xffb", "s__a_b_6phgh6sjcnyg"},
		{"other invalid UTF-8", "s", "a\xfeb", "s__a_b_4zxsauyggicl"},
		{"controls", "s\n", "a\x00b", "s__a_b_6ltibtg2vjgr"},
	} {
		got := manager.SafeName(row.server, row.tool)
		if got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
		if !safeName.MatchString(got) {
			t.Errorf("%s: %q is not safe", row.name, got)
		}
	}
}

func TestNoTwoToolsShareAName(t *testing.T) {
	// All short names of these characters, and what is known to be awkward.
	names := []string{""}
	for from := 0; len(names) < 1+5+25+125; {
		next := len(names)
		for _, name := range names[from:] {
			for _, c := range []string{"a", "_", "-", ".", "é"} {
				names = append(names, name+c)
			}
		}
		from = next
	}
	names = append(names, "\x00", "a\x00", "\x00a", "\xff", "\xfe", "e", "e\u0301", "A", "1:a", "12", "2")
	seen := map[string][2]string{}
	add := func(server, tool string) string {
		name := manager.SafeName(server, tool)
		if other, ok := seen[name]; ok && other != [2]string{server, tool} {
			t.Errorf("%q is %q and %q", name, other, [2]string{server, tool})
		}
		seen[name] = [2]string{server, tool}
		return name
	}
	for _, server := range names {
		for _, tool := range names {
			name := add(server, tool)
			// Servers and tools that try to get that name too.
			for i := range name {
				if before, ok := strings.CutSuffix(name[:i], "__"); ok {
					add(before, name[i:])
				}
			}
		}
	}
}

// subsequence reports whether the characters of part stand in text, in their order.
func subsequence(part, text string) bool {
	for _, c := range part {
		_, rest, ok := strings.Cut(text, string(c))
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

func FuzzSafeNamesAreSafeAndTellToolsApart(f *testing.F) {
	f.Add("my server (prod)", "a.b", "my server (prod)", "a/b")
	f.Add("a", "b_", "a_", "b")
	f.Add("a", "_b", "a_", "b")
	f.Add("a__b", "c", "a", "b__c")
	f.Add("a\x00b", "c", "a", "b\x00c")
	f.Add("a", "b.c", "a", manager.SafeName("a", "b.c")[3:])
	f.Add(strings.Repeat("s", 64), "a", strings.Repeat("s", 65), "a")
	letters := regexp.MustCompile(`[^A-Za-z0-9]`)
	f.Fuzz(func(t *testing.T, server1, tool1, server2, tool2 string) {
		a, b := manager.SafeName(server1, tool1), manager.SafeName(server2, tool2)
		if !safeName.MatchString(a) {
			t.Errorf("%q is not safe", a)
		}
		if same := server1 == server2 && tool1 == tool2; (a == b) != same {
			t.Errorf("%q %q is %q, and %q %q is %q", server1, tool1, a, server2, tool2, b)
		}
		if !hashedName.MatchString(a) {
			if server, tool, _ := strings.Cut(a, "__"); server != server1 || tool != tool1 {
				t.Errorf("%q is %q %q, not %q %q", a, server, tool, server1, tool1)
			}
		}
		if text := letters.ReplaceAllString(server1+tool1, ""); len(server1)+len(tool1) <= 16 && !subsequence(text, a) {
			t.Errorf("%q has lost some of %q", a, text)
		}
	})
}
