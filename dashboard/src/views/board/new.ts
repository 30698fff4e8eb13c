/** The dialog for a new task. */
import { api, data } from "../../api/client";
import { setParams } from "../../router";
import { ask, toast } from "../../ui/actions";
import { FINISHED, type Task, titleOf } from "./data";
import { agentSuggestions } from "./moves";

const parts = (text = ""): string[] => text.split(/[\n,]/).flatMap((one) => one.trim() || []);

export async function newTask(tasks: readonly Task[], refresh: () => void): Promise<void> {
  const agents = await agentSuggestions();
  const open = tasks.filter((task) => !FINISHED.includes(task.state));
  ask({
    title: "New task",
    fields: [
      { name: "title", label: "Title", required: true },
      { name: "agent", label: "For (an agent or a role; empty for anyone)", suggestions: agents },
      { name: "priority", label: "Priority", required: true, choices: ["critical", "high", "medium", "normal", "low"], value: "normal" },
      { name: "artefacts", label: "Files to work on, separated by commas" },
      { name: "needs", label: "Wait for these tasks (ids, separated by commas)", suggestions: open.map((task) => ({ value: task.id, label: titleOf(task) })) },
      { name: "notes", label: "Notes", multiline: true },
    ],
    button: "Create",
    run: async (values) => {
      const { title = "", agent = "", priority, notes } = values;
      const body = { title, agent, priority: priority as "normal", artefacts: parts(values.artefacts), needs: parts(values.needs), notes: notes ? [notes] : [] };
      const made = await data(api.POST("/api/v1/tasks", { body }));
      refresh();
      for (const one of made.similar) toast(`similar to “${one.title}”`, "info", one.other);
      const id = made.created?.[0]?.id;
      if (id) setParams({ task: id }, { replace: false });
    },
    done: "task created",
  });
}
