// Follows a job of the server until it ends.

import * as api from "./api";

/** Most jobs are short. One that is not is looked at less and less often. */
const FIRST_MS = 30;
const EVERY_MS = 300;

/** Gives the job each time one looks at it, and returns it once it has ended. */
export async function follow(job: api.Job, show: (job: api.Job) => void): Promise<api.Job> {
  let now = job;
  show(now);
  for (let wait = FIRST_MS; now.state === "running"; wait = Math.min(2 * wait, EVERY_MS)) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    now = await api.job(job.id);
    show(now);
  }
  return now;
}
