"""An HTML page as a reader sees it."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Elements, attributes, text and tables of a page."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.attributes, self.images, self.ids = [], [], [], []
        self.text, self.codes, self.script = "", [], ""
        self.tables, self._within = {}, []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append(tag)
        self.attributes.append(list(attributes))
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag == "img":
            self.images.append(attributes)
        if tag == "table":
            self._caption, self._rows = "", []
        if tag == "pre":
            self.codes.append("")
        if tag == "tr":
            self._rows.append([])
        if tag in ("td", "th"):
            self._rows[-1].append("")
        if tag not in ("meta", "img", "br", "source"):
            self._within.append(tag)

    def handle_endtag(self, tag):
        assert self._within.pop() == tag
        if tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data):
        if "script" in self._within:
            self.script += data
        elif "style" not in self._within:
            self.text += data
        if "caption" in self._within:
            self._caption += data
        if {"td", "th"} & set(self._within):
            self._rows[-1][-1] += data
        if "pre" in self._within:
            self.codes[-1] += data

    @property
    def code(self):
        """The Python that makes the page again."""
        return self.codes[-1]

    def table(self, caption):
        return self.tables[caption]
