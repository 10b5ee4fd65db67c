package redact

// For tests: the quick look at a text, and the whole of what it saves.
var (
	Suspicious = suspicious[string]
	Shapes     = maskShapes
)

// Words are what the lists of secret names hold.
func Words() [][]string { return [][]string{secretMembers, words, names} }
