package proc

// BatchCommandLine is tested everywhere, though it is used on Windows only.
var BatchCommandLine = batchCommandLine
