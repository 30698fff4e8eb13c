/** The page of `dibs report`: a history in one file, without a server. */
import { render } from "preact";
import { type History, withHues } from "../history/types";
import { Report } from "./report";
import "../styles/tokens.css";
import "../styles/base.css";
import "../styles/parts.css";
import "../styles/charts.css";
import "../styles/history.css";
import "./report.css";

const text = document.getElementById("data")?.textContent;
if (text) {
  const history = withHues(JSON.parse(text) as History);
  const place = document.getElementById("report") ?? document.body.appendChild(document.createElement("div"));
  place.replaceChildren();
  render(<Report history={history} />, place);
}
