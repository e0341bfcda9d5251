// Follows a job of the server until it ends.

import * as api from "./api";

const EVERY_MS = 300;

/** Gives the job each time one looks at it, and returns it once it has ended. */
export async function follow(job: api.Job, show: (job: api.Job) => void): Promise<api.Job> {
  let now = job;
  show(now);
  while (now.state === "running") {
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    now = await api.job(job.id);
    show(now);
  }
  return now;
}
