package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// inBraces is a reference of most programs: ${...}.
var inBraces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([^}]*)\}`) })

// reworded puts a text in our words: what refs finds is handed to put with its groups, and what put returns stands in
// its place; "" leaves it as it is.
func reworded(text string, refs *regexp.Regexp, put func(groups []string) (string, error)) (string, error) {
	var out strings.Builder
	at := 0
	for _, found := range refs.FindAllStringSubmatchIndex(text, -1) {
		groups := make([]string, len(found)/2)
		for i := range groups {
			if found[2*i] >= 0 {
				groups[i] = text[found[2*i]:found[2*i+1]]
			}
		}
		said, err := put(groups)
		if err != nil {
			return "", err
		}
		if said == "" {
			continue
		}
		before := text[at:found[0]]
		if strings.HasSuffix(before, `\`) && strings.HasPrefix(said, "${") {
			return "", errors.New("has a backslash before a reference, which would be an escape here; write a slash")
		}
		out.WriteString(escaped(before) + said)
		at = found[1]
	}
	out.WriteString(escaped(text[at:]))
	return out.String(), nil
}

// variable returns our reference to a variable; an error if it can't have that name.
func variable(name string) (string, error) {
	if !isVariable(name) {
		return "", fmt.Errorf("refers to %s, which is no name of a variable", named(name))
	}
	return "${" + name + "}", nil
}

// named returns what may be shown of what stands in a reference: a name, without its default. What is none may be part
// of a secret.
func named(inner string) string {
	inner, _, _ = strings.Cut(inner, ":-")
	if !nameLike().MatchString(inner) {
		return "…"
	}
	return inner
}

// nameLike is what names in references look like.
var nameLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][\w.:-]{0,60}$`) })

// foreign is the error for a reference that can't be put in our words. why continues the sentence.
func foreign(inner, why string) error { return fmt.Errorf("refers to ${%s}, %s", named(inner), why) }

// literal is the tongue of programs that are not known to put in variables. A reference in their files is a mistake, or
// means something that we don't know: it is never handed on as it stands, and never becomes empty.
func literal(title string) tongue {
	return func(text string) (string, error) {
		return reworded(text, inBraces(), func(groups []string) (string, error) {
			return "", foreign(groups[1], "and "+title+" is not known to put variables in; write the value there, or add "+
				`the server with "mcpwire add", where that is a variable`)
		})
	}
}

// expandingDefaults is the tongue of programs that know ${NAME} and ${NAME:-default}.
func expandingDefaults(title string) tongue {
	return func(text string) (string, error) {
		return reworded(text, inBraces(), func(groups []string) (string, error) {
			name, fallback, hasDefault := strings.Cut(groups[1], ":-")
			if !isVariable(name) || strings.Contains(fallback, "${") {
				return "", foreign(groups[1], "which can't be read; "+title+" knows ${NAME} and ${NAME:-default}")
			}
			if hasDefault {
				return "${" + name + ":-" + escaped(fallback) + "}", nil
			}
			return "${" + name + "}", nil
		})
	}
}

// constants are the names that editors have for texts of their own, with these; empty where there is none.
func (f where) constants() map[string]string {
	separator, base := "/", ""
	if f.goos == "windows" {
		separator = `\`
	}
	if f.project != "" {
		base = filepath.Base(f.project)
	}
	return map[string]string{
		"userHome": f.home, "pathSeparator": separator, "/": separator,
		"workspaceFolder": f.project, "workspaceFolderBasename": base,
	}
}

// editors is the tongue of editors: ${env:NAME}, and names of folders.
func editors(from where) tongue {
	constants := from.constants()
	return func(text string) (string, error) {
		return reworded(text, inBraces(), func(groups []string) (string, error) {
			sort, name, _ := strings.Cut(groups[1], ":")
			value, isConstant := constants[groups[1]]
			switch {
			case sort == "env":
				return variable(name)
			case sort == "input":
				return "", foreign(groups[1], "for which "+from.title+" asks somebody; set a variable to the value, and copy "+
					`the entry by hand with ${VARIABLE} in its place ("mcpwire add --help")`)
			case isConstant && value != "":
				return escaped(value), nil
			case isConstant:
				return "", foreign(groups[1], "and no folder is open here; write its path")
			}
			return "", foreign(groups[1], "and what that is only "+from.title+" knows; write the value there, or ${env:NAME} "+
				"for a variable")
		})
	}
}

// envAndFile is the tongue of programs that know ${env:NAME} and ${file:PATH}.
func envAndFile(from where) tongue {
	return func(text string) (string, error) {
		return reworded(text, inBraces(), func(groups []string) (string, error) {
			switch sort, rest, _ := strings.Cut(groups[1], ":"); sort {
			case "env":
				return variable(rest)
			case "file":
				return from.file(rest)
			}
			return "", foreign(groups[1], "which can't be read; "+from.title+" knows ${env:NAME} and ${file:PATH}")
		})
	}
}

// file returns our reference to what a file holds: one of the user's folder if it begins with "~/".
func (f where) file(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(f.home, rest)
	}
	switch {
	case path == "":
		return "", errors.New("refers to a file without a path")
	case !filepath.IsAbs(path):
		path = filepath.Join(f.folder, path)
	}
	return "${" + filePrefix + escaped(path) + "}", nil
}
