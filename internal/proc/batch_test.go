package proc_test

import (
	"testing"

	"mcpwire/internal/proc"
)

func TestArgumentsOfBatchFilesAreQuoted(t *testing.T) {
	const prefix = `"cmd.exe" /e:ON /v:OFF /d /c ""C:\a b\demo.cmd"`
	for _, row := range []struct{ name, arg, want string }{
		{"blank and ampersand", `a & b`, ` "a & b"`},
		{"empty", ``, ` ""`},
		{"quotation marks", `say "hi"`, ` "say ""hi"""`},
		{"backslashes at the end", `C:\dir\`, ` "C:\dir\\"`},
		{"backslashes before a mark", `\\"`, ` "\\\\"""`},
		{"backslashes elsewhere", `\\a`, ` "\\a"`},
		{"percent", `%PATH%`, ` "%%cd:~,%PATH%%cd:~,%"`},
		{"other signs", `^<>|()!`, ` "^<>|()!"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := proc.BatchCommandLine("cmd.exe", `C:\a b\demo.cmd`, []string{row.arg})
			if want := prefix + row.want + `"`; err != nil || got != want {
				t.Errorf("got  %s, %v\nwant %s", got, err, want)
			}
		})
	}
}

func TestArgumentsThatABatchFileCannotTakeAreRefused(t *testing.T) {
	for _, arg := range []string{"a\nb", "a\rb", "a\x00b"} {
		if _, err := proc.BatchCommandLine("cmd.exe", "demo.cmd", []string{arg}); err == nil {
			t.Errorf("%q was accepted", arg)
		}
	}
}
