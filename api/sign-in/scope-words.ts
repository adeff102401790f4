import { type Html, html } from './html.ts';

/** What scope `read` covers (docs/rules.md#scope), in words for riders. */
export const readWords: Html = html`<ul>
<li><strong>The ride calendar</strong>: days, rides and where they meet, as anybody sees them.</li>
<li><strong>Your own nights</strong>: the ones you lead, are going to, rode or saved.</li>
<li><strong>Your friends’ nights</strong>: which of the riders you follow or marked as close friends are going, with their names.</li>
<li><strong>Riders you flagged</strong>: the nights they are going to, with their names.</li>
</ul>`;
