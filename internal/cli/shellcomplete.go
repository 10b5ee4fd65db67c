package cli

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"mcpwire/client"
	"mcpwire/manager"
)

// completionWait is how long a server may take to say what a line could go on with.
const completionWait = time.Second

// complete is told of Tab. It lets the word before pos go on as far as that is certain, and shows what there is to
// choose from where nothing is.
func (s *shell) complete(text string, pos int) (newText string, newPos int, ok bool) {
	start, offers := s.offers(text[:pos])
	if len(offers) == 0 {
		return "", 0, false
	}
	word := commonBeginning(offers)
	done := escapedWord(word)
	if len(offers) == 1 && !strings.HasSuffix(word, "=") && !strings.HasSuffix(word, ".") {
		done += " "
	}
	if len(offers) > 1 && done == text[start:pos] {
		s.editor.show(inColumns(offers, s.editor.width()))
	}
	return text[:start] + done + text[pos:], start + len(done), true
}

// offers returns what the last word of a line could be, sorted, and where it begins.
func (s *shell) offers(text string) (start int, offers []string) {
	parsed, _ := splitLine(text) // it may end within quotes
	words, start, word := parsed.words, len(text), ""
	if parsed.inWord {
		start, word = parsed.start, words[len(words)-1]
		words = words[:len(words)-1]
	}
	for _, offer := range s.expected(words, word) {
		if strings.HasPrefix(offer, word) && utf8.ValidString(offer) && !strings.ContainsFunc(offer, hidden) {
			offers = append(offers, offer)
		}
	}
	slices.Sort(offers)
	return start, slices.Compact(offers)
}

// expected returns what may follow words; what word begins with may narrow it.
func (s *shell) expected(words []string, word string) []string {
	if len(words) == 0 {
		return append(s.commandNames(), s.toolNames(word)...)
	}
	i, ok := s.inner(words[0])
	if !ok {
		return s.argumentsOfTool(words[0], words[1:], word)
	}
	flags := s.command(i).Flags()
	if strings.HasPrefix(word, "-") {
		var names []string
		flags.VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				names = append(names, "--"+flag.Name)
			}
		})
		return names
	}
	last := words[len(words)-1]
	flag := flags.Lookup(strings.TrimPrefix(last, "--"))
	if len(last) == 2 {
		flag = flags.ShorthandLookup(last[1:])
	}
	if values := valuesOfFlag(flag); values != nil && last[0] == '-' {
		return values
	}
	return s.operandsOf(i, words[1:], word)
}

// valuesOfFlag are the values of a flag that has few; nil for any other, and for none.
func valuesOfFlag(flag *pflag.Flag) []string {
	if flag == nil {
		return nil
	}
	c, ok := flag.Value.(limitedFlag)
	if !ok {
		return nil
	}
	return c.choices()
}

// operandsOf are the words that may follow those that a command is given.
func (s *shell) operandsOf(i inner, given []string, word string) []string {
	switch kind := operandKind(i.use, len(given)); {
	case kind == "":
		return nil
	case kind == "SERVER":
		return s.names()
	case kind == "TOOL":
		return s.toolNames(word)
	case strings.HasPrefix(kind, "key=") && i.name() == "call":
		return s.argumentsOfTool(given[0], given[1:], word)
	case strings.HasPrefix(kind, "key="):
		return s.argumentsOfReference(given[0], given[1:], word)
	case kind == "URI":
		return s.resourceURIs()
	case kind == "PROMPT":
		return s.promptNames()
	case kind == "PROMPT|TEMPLATE":
		return append(s.promptNames(), s.templateURIs()...)
	case kind == "SKILL":
		return s.skillNames()
	case kind == "LEVEL":
		return levelNames()
	case kind == "COMMAND":
		return s.commandNames()
	case kind == strings.ToLower(kind):
		return strings.Split(kind, "|")
	}
	return nil
}

// toolNames are the words that name tools: by themselves where that is enough, and behind their server's name.
func (s *shell) toolNames(word string) []string {
	var all []string
	count := map[string]int{}
	tools := s.manager.Snapshot().Tools
	for _, t := range tools {
		if s.current == "" || t.Server == s.current {
			count[t.Name]++
		}
	}
	for _, t := range tools {
		if count[t.Name] == 1 && (s.current == "" || t.Server == s.current) {
			all = append(all, t.Name)
		}
		qualified := t.Server + "." + t.Name
		switch {
		case len(s.servers) == 1:
		case strings.HasPrefix(word, t.Server+"."), s.current == "" && count[t.Name] > 1:
			all = append(all, qualified)
		case word != "":
			all = append(all, t.Server+".")
		}
	}
	return all
}

// argumentsOfTool are the arguments of a tool that are not given yet or, behind "=", what one may be.
func (s *shell) argumentsOfTool(tool string, given []string, word string) (all []string) {
	tools := s.manager.Snapshot().Tools
	server, name, err := s.find(tools, tool)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(tools, func(t manager.Tool) bool { return t.Server == server && t.Name == name })
	if i < 0 {
		return nil
	}
	key, _, valued := strings.Cut(word, "=")
	asked, raw := strings.CutSuffix(key, ":")
	for _, p := range newSchema(tools[i].InputSchema).properties() {
		switch {
		case !valued && !isGiven(given, p.name) && !strings.ContainsAny(p.name, ":="):
			all = append(all, p.name+"=")
		case valued && p.name == asked:
			for _, value := range p.schema.choices() {
				if text := jsonText(value); !raw || text == string(value) {
					all = append(all, key+"="+text)
				}
			}
		}
	}
	return all
}

// isGiven reports whether words have an argument of that name.
func isGiven(words []string, name string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		key, _, found := strings.Cut(word, "=")
		return found && strings.TrimSuffix(key, ":") == name
	})
}

// cancelled is for what must be known already.
func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// ask asks the chosen server something, unless it is not there or takes long.
func (s *shell) ask(question func(ctx context.Context, c *client.Client)) {
	if s.current == "" {
		return
	}
	c, err := s.manager.Client(cancelled(), s.current)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionWait)
	defer cancel()
	question(ctx, c)
}

// commonBeginning is what all words begin with.
func commonBeginning(words []string) string {
	first, last := words[0], words[len(words)-1] // they are sorted
	n := 0
	for n < min(len(first), len(last)) && first[n] == last[n] {
		n++
	}
	for n > 0 && n < len(first) && !utf8.RuneStart(first[n]) {
		n--
	}
	return first[:n]
}

// inColumns shows words in as many columns as fit.
func inColumns(words []string, width int) string {
	widest := 0
	for _, word := range words {
		widest = max(widest, utf8.RuneCountInString(word))
	}
	perLine := max(1, width/(widest+2))
	var b strings.Builder
	for i, word := range words {
		if last := i+1 == len(words) || (i+1)%perLine == 0; last {
			b.WriteString(word + "\n")
			continue
		}
		b.WriteString(padded(word, widest+2))
	}
	return b.String()
}
