package manager

// Diagram is what ARCHITECTURE.md shows.
var Diagram = diagram
