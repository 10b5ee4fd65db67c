package config

// Parse reads a text without a file.
var Parse = parse

// Added returns the text that AddServer would write.
func Added(text []byte, s Server, replace bool) ([]byte, error) {
	return edited("f", text, adding(s, replace))
}

// Removed returns the text that RemoveServer would write.
func Removed(text []byte, name string) ([]byte, error) { return edited("f", text, removing(name)) }

// WithDisabled returns the text that SetDisabled would write.
func WithDisabled(text []byte, name string, disabled bool) ([]byte, error) {
	return edited("f", text, disabling(name, disabled))
}
