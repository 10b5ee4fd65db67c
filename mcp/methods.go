package mcp

// Methods that the client calls.
const (
	MethodInitialize            = "initialize" // up to 2025-11-25
	MethodPing                  = "ping"       // up to 2025-11-25; either side calls it
	MethodDiscover              = "server/discover"
	MethodListTools             = "tools/list"
	MethodCallTool              = "tools/call"
	MethodListResources         = "resources/list"
	MethodListResourceTemplates = "resources/templates/list"
	MethodReadResource          = "resources/read"
	MethodSubscribe             = "resources/subscribe"   // up to 2025-11-25
	MethodUnsubscribe           = "resources/unsubscribe" // up to 2025-11-25
	MethodListen                = "subscriptions/listen"  // from 2026-07-28
	MethodListPrompts           = "prompts/list"
	MethodGetPrompt             = "prompts/get"
	MethodSetLevel              = "logging/setLevel" // up to 2025-11-25
	MethodComplete              = "completion/complete"
)

// Methods by which the server asks the client. Up to 2025-11-25 they are requests from the server; from 2026-07-28 on
// they are entries of InputRequired.InputRequests.
const (
	MethodCreateMessage = "sampling/createMessage"
	MethodElicit        = "elicitation/create" // from 2025-06-18
	MethodListRoots     = "roots/list"
)

// Methods for tasks (2025-11-25 alone); either side calls them.
const (
	MethodListTasks  = "tasks/list"
	MethodGetTask    = "tasks/get"
	MethodTaskResult = "tasks/result"
	MethodCancelTask = "tasks/cancel"
)

// Notifications.
const (
	NotificationInitialized               = "notifications/initialized" // up to 2025-11-25; client
	NotificationCancelled                 = "notifications/cancelled"   // either side
	NotificationProgress                  = "notifications/progress"    // either side; server alone from 2026-07-28
	NotificationMessage                   = "notifications/message"
	NotificationToolsChanged              = "notifications/tools/list_changed"
	NotificationPromptsChanged            = "notifications/prompts/list_changed"
	NotificationResourcesChanged          = "notifications/resources/list_changed"
	NotificationResourceUpdated           = "notifications/resources/updated"
	NotificationRootsChanged              = "notifications/roots/list_changed"         // up to 2025-11-25; client
	NotificationElicitationComplete       = "notifications/elicitation/complete"       // 2025-11-25
	NotificationTaskStatus                = "notifications/tasks/status"               // 2025-11-25; either side
	NotificationSubscriptionsAcknowledged = "notifications/subscriptions/acknowledged" // from 2026-07-28
)
