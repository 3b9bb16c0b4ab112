/** Tasks, experimental. */
import type { Demands } from './demands.ts';
import { of } from './demands.ts';

export const tasks: Demands = of(
  { since: '2025-11-25' },
  {
    'MCP 2025-11-25, basic/utilities/tasks, "Task Support and Handling"': {
      'TASKS-01': {
        text: 'Where tasks are not declared, or not known to the revision, params.task is ignored.',
        since: '2024-11-05',
        by: 'revision',
      },
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation"': {
      'TASKS-02':
        'A tool whose taskSupport is required is -32601 without a task, one that is forbidden is -32601 with one.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Capabilities"': {
      'TASKS-03': {
        text: 'tasks is declared where some tool may run as one, with list, cancel and tools/call.',
        since: '2024-11-05',
        by: 'revision',
      },
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Task ID Requirements"': {
      'TASKS-04': 'Task ids are strings of the server’s own, unique, and cannot be guessed.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Task Status Lifecycle"': {
      'TASKS-05': 'A task begins as working.',
      'TASKS-06': 'A task takes the valid paths only, and stays in a terminal status.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Input Required Status"': {
      'TASKS-07':
        'A task that needs an answer of the client’s is input_required, and working again after.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "TTL and Resource Management"': {
      'TASKS-08': 'Every task response has createdAt and lastUpdatedAt, ISO 8601.',
      'TASKS-09': 'The actual ttl is told; the requested one is kept within bounds.',
      'TASKS-10': 'Once its ttl has elapsed a task is gone, and its handler is cancelled.',
      'TASKS-11': 'A pollInterval is suggested.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Result Retrieval"': {
      'TASKS-12': 'A task-augmented request is answered with a CreateTaskResult at once.',
      'TASKS-13': 'tasks/result blocks until the task is terminal.',
      'TASKS-14':
        'tasks/result gives exactly what the request would have been answered with, result or error.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Associating Task-Related Messages"': {
      'TASKS-15':
        'What belongs to a task has the related-task metadata, in both directions of the server’s.',
      'TASKS-16':
        'The taskId of the params counts, whatever metadata says; get, list, cancel and status have none of it.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Task Notifications"': {
      'TASKS-17':
        'A change of the status is told by notifications/tasks/status, with the whole task.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Task Progress Notifications"': {
      'TASKS-18': 'The progress token of the request is valid for the life of the task.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Task Listing"': {
      'TASKS-19':
        'tasks/list has pages, with a nextCursor where there are more, and holds every task that can be got.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Task Cancellation"': {
      'TASKS-20': 'A task that is terminal cannot be cancelled: -32602.',
      'TASKS-21': 'A task is cancelled before tasks/cancel is answered, and its work is stopped.',
      'TASKS-22': 'A cancelled task stays cancelled, whatever becomes of its handler.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Protocol Errors"': {
      'TASKS-23':
        'A taskId that is none, or unknown, or expired is -32602; so is a cursor that was never given.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Task Execution Errors"': {
      'TASKS-24':
        'A task whose request failed, or whose result has isError, is failed, and its statusMessage says why.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Task Isolation and Access Control"': {
      'TASKS-25': 'A session reaches its own tasks only.',
    },
    'MCP 2025-11-25, basic/utilities/tasks, "Resource Management"': {
      'TASKS-26': 'Running and kept tasks are limited; one more is refused, retryable.',
    },
    'MCP 2025-11-25, basic/utilities/cancellation, "Behavior Requirements"': {
      'TASKS-27': 'notifications/cancelled for the request does not cancel its task.',
    },
  },
);
