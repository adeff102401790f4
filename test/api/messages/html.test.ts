import { expect, it } from 'vitest';
import { html } from '../../../api/messages/html.ts';

it('a value in a template is text, whatever quotes stand around it', () => {
  expect(html`<a b='${`&<>"'\``}'>${null}`.text).toBe("<a b='&#38;&#60;&#62;&#34;&#39;&#96;'>");
});
