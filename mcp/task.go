package mcp

import "encoding/json"

// Values of Task.Status (2025-11-25, tasks).
const (
	TaskWorking       = "working"
	TaskInputRequired = "input_required"
	TaskCompleted     = "completed"
	TaskFailed        = "failed"
	TaskCancelled     = "cancelled"
)

// TaskMetadata ask that a request be run as a task.
type TaskMetadata struct {
	TTL *float64 `json:"ttl,omitzero"` // for how many milliseconds to keep the task; nil: the receiver's choice
}

func (*TaskMetadata) optionalMembers() {}

// A Task is the state of a request that is run as a task. It is the params of notifications/tasks/status, and the
// result of tasks/get and tasks/cancel.
type Task struct {
	TaskID        string          `json:"taskId"`
	Status        string          `json:"status"`
	StatusMessage string          `json:"statusMessage,omitzero"`
	CreatedAt     string          `json:"createdAt"`             // ISO 8601
	LastUpdatedAt string          `json:"lastUpdatedAt"`         // ISO 8601
	TTL           *float64        `json:"ttl"`                   // milliseconds from CreatedAt; nil: for ever
	PollInterval  *float64        `json:"pollInterval,omitzero"` // milliseconds
	Meta          json.RawMessage `json:"_meta,omitzero"`
}

// A CreateTaskResult answers a request that is run as a task.
type CreateTaskResult struct {
	Task Task            `json:"task"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// TaskParams are the params of tasks/get, tasks/result and tasks/cancel, and the member MetaRelatedTask of _meta.
type TaskParams struct {
	TaskID string          `json:"taskId"`
	Meta   json.RawMessage `json:"_meta,omitzero"`
}

// A ListTasksResult is one page of the tasks.
type ListTasksResult struct {
	Tasks      []Task          `json:"tasks"`
	NextCursor *string         `json:"nextCursor,omitzero"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}
