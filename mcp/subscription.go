package mcp

import "encoding/json"

// A SubscriptionFilter tells which notifications are wanted (from 2026-07-28, subscriptions).
type SubscriptionFilter struct {
	ToolsListChanged      bool     `json:"toolsListChanged,omitzero"`
	PromptsListChanged    bool     `json:"promptsListChanged,omitzero"`
	ResourcesListChanged  bool     `json:"resourcesListChanged,omitzero"`
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitzero"` // URIs
}

func (*SubscriptionFilter) optionalMembers() {}

// ListenParams open a stream of notifications. Its end is a Result whose ResultMeta has the SubscriptionID.
type ListenParams struct {
	Notifications SubscriptionFilter `json:"notifications"`
	Meta          json.RawMessage    `json:"_meta,omitzero"`
}

// SubscriptionsAcknowledgedParams tell which of the wanted notifications the server will send.
type SubscriptionsAcknowledgedParams struct {
	Notifications SubscriptionFilter `json:"notifications"`
	Meta          json.RawMessage    `json:"_meta,omitzero"` // NotificationMeta
}
