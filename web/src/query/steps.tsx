// The steps that queries can use, as the server describes them, with a search.

import { useState } from "preact/hooks";
import { language } from "../session";
import { SearchField, SidePanel } from "../ui/parts";

export function StepsPanel({ close }: { close: () => void }) {
  const [wanted, want] = useState("");
  const isWanted = (text: string) => text.toLowerCase().includes(wanted.toLowerCase());
  const found = language.value.steps.filter(({ name, description }) => isWanted(name) || isWanted(description));
  return (
    <SidePanel label="Steps" close={close} tools={<SearchField label="Search the steps" value={wanted} set={want} />}>
      {found.length === 0 && <p class="hint">No step has this text.</p>}
      <dl class="steps" tabIndex={0} aria-label="Steps and what they do">
        {found.map(({ name, description }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>{description}</dd>
          </div>
        ))}
      </dl>
    </SidePanel>
  );
}
