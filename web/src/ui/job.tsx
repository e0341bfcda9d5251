// A job of the server that the page began: how far it is, how it ended, or why it did not begin.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { stopJob, type Job } from "../server/api";
import { wordsOf } from "../server/client";
import type { JsonObject } from "../server/exact";
import { follow } from "../server/follow";
import { count, duration } from "../elements/text";
import { Action, Alert, Bar } from "./parts";

/** What a tab began, and what became of it. */
export class Task {
  readonly job = signal<Job | null>(null);
  readonly why = signal<string | null>(null);

  get isRunning(): boolean {
    return this.job.value?.state === "running";
  }

  forget(): void {
    [this.job.value, this.why.value] = [null, null];
  }

  /** Begins a job and follows it. `onEnd` gets it once it has ended, and `shown` may change its words before. */
  async run(begin: () => Promise<Job>, onEnd: (job: Job) => Promise<void>, shown = (job: Job) => job): Promise<void> {
    this.forget();
    try {
      await onEnd(await follow(await begin(), (now) => (this.job.value = shown(now))));
    } catch (error) {
      this.why.value = wordsOf(error);
    }
  }
}

/** Shows a task, and scrolls to it when it begins and when it ends. `summary` shows what the server says of its end. */
export function TaskView(props: {
  of: Task;
  name: string;
  title?: string;
  canStop: boolean;
  summary: (of: JsonObject) => ComponentChildren;
}) {
  const own = useRef<HTMLElement>(null);
  const { job, why } = props.of;
  const now = `${job.value?.id} ${job.value?.state} ${why.value}`;
  const seen = useRef(now);
  useEffect(() => {
    if (now !== seen.current) own.current?.scrollIntoView({ block: "nearest" });
    seen.current = now;
  }, [now]);
  if (job.value === null && why.value === null) return null;
  return (
    <section ref={own} aria-label={props.title ?? "Job"}>
      {props.title && <h2>{props.title}</h2>}
      <Alert of={why.value} />
      {job.value && <Card job={job.value} name={props.name} canStop={props.canStop} />}
      {job.value?.summary && props.summary(job.value.summary)}
    </section>
  );
}

function Card({ job, name, canStop }: { job: Job; name: string; canStop: boolean }) {
  const { progress } = job;
  return (
    <div class="card" role="status" aria-label={name}>
      <p>
        <strong>{name}</strong> {WORDS[job.state]} {duration(job.seconds)}
      </p>
      {job.state === "running" && (
        <>
          <Bar label={`Progress of ${name}`} done={progress?.done ?? 0} of={progress?.of ?? null} />
          <p class="muted">
            {progress
              ? `${progress.stage}: ${count(progress.done)}${progress.of ? ` of ${count(progress.of)}` : ""}`
              : "It begins."}
          </p>
          {canStop && (
            <Action kind="danger" onClick={() => void stopJob(job.id).catch(() => undefined)}>
              Stop
            </Action>
          )}
        </>
      )}
      <Alert of={job.error} />
    </div>
  );
}

const WORDS = {
  running: "has been running for",
  done: "is done after",
  failed: "failed after",
  cancelled: "was stopped after",
};
