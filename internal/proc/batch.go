package proc

import (
	"errors"
	"strings"
)

var errBatchArg = errors.New("an argument of a batch file can't hold line breaks or NUL")

// batchCommandLine returns the command line that makes cmd.exe run a batch file with the given arguments unchanged.
//
// Everything is put between quotation marks, where cmd.exe leaves & | < > ^ and blanks alone, the second time too, when
// the batch file hands its arguments on with %*. Marks inside are doubled, and so are backslashes before a mark, as the
// C runtime of the program behind the batch file reads them. Percent signs are the exception, since they count inside
// marks as well: each is followed by an expansion that gives nothing, so that no variable's name can stand between two
// of them. The outermost pair of marks is what cmd.exe takes off itself.
func batchCommandLine(shell, script string, args []string) (string, error) {
	var b strings.Builder
	b.WriteString(`"` + shell + `" /e:ON /v:OFF /d /c "`)
	for i, arg := range append([]string{script}, args...) {
		if strings.ContainsAny(arg, "\r\n\x00") || i == 0 && strings.Contains(arg, `"`) {
			return "", errBatchArg
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		quoteBatchArg(&b, arg)
	}
	b.WriteByte('"')
	return b.String(), nil
}

func quoteBatchArg(b *strings.Builder, arg string) {
	b.WriteByte('"')
	backslashes := 0
	for i := range len(arg) {
		switch c := arg[i]; c {
		case '\\':
			backslashes++
			b.WriteByte(c)
			continue
		case '"':
			b.WriteString(strings.Repeat(`\`, backslashes) + `""`)
		case '%':
			b.WriteString(`%%cd:~,%`)
		default:
			b.WriteByte(c)
		}
		backslashes = 0
	}
	b.WriteString(strings.Repeat(`\`, backslashes) + `"`)
}
