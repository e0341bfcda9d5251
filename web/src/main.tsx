// Where the page begins.

import { render } from "preact";
import "./style.css";
import { App } from "./app";
import { open } from "./session";

render(<App />, document.getElementById("page")!);
void open();
