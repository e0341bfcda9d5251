// How far a job is, and how it ended.

import { stopJob, type Job } from "../server/api";
import { count, duration } from "../elements/text";
import { Action, Bar } from "./parts";

export function JobCard({ job, name, canStop }: { job: Job; name: string; canStop: boolean }) {
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
      {job.error !== undefined && (
        <pre class="error" role="alert">
          {job.error}
        </pre>
      )}
    </div>
  );
}

const WORDS = {
  running: "has been running for",
  done: "is done after",
  failed: "failed after",
  cancelled: "was stopped after",
};
