"""The prompts the target answers: templates times topics, and passages it wrote itself.

Breadth is what makes a draft useful on prompts nobody foresaw, so there are many kinds, each drawn by its own
function from a seeded generator. None of the text comes from a benchmark. Kinds that need a passage (summaries, questions over a
passage, extraction) take one that the target wrote in an earlier shard.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

TOPICS = """the water cycle|volcanoes|coral reefs|the Roman Empire|the French Revolution|photosynthesis|black holes|vaccination|inflation
public transport|electric cars|solar power|wind turbines|nuclear energy|recycling|urban gardening|bee keeping|bread baking|coffee
green tea|chess|football|basketball|marathon running|yoga|meditation|sleep|stress at work|time management|remote work
job interviews|small businesses|start-ups|marketing|customer service|tax returns|personal budgets|credit cards|the stock market|mortgages
climate change|deforestation|ocean plastic|endangered species|wolves|elephants|dolphins|owls|house cats|training a puppy
aquariums|the human heart|the immune system|diabetes|healthy breakfasts|vegetarian cooking|Italian food|Japanese food|street food|chocolate
wine|farming|soil health|rice fields|the printing press|the steam engine|the telephone|the internet|smartphones|social media
online privacy|passwords|artificial intelligence|machine learning|robots|self-driving cars|space travel|the Moon|Mars|satellites
telescopes|quantum computers|DNA|evolution|dinosaurs|earthquakes|hurricanes|droughts|rivers|mountains
deserts|rain forests|the Arctic|Antarctica|islands|lighthouses|bridges|skyscrapers|castles|museums
painting|sculpture|photography|film making|jazz|classical music|hip hop|folk songs|opera|ballet
theatre|poetry|novels|fairy tales|Greek myths|Norse myths|ancient Egypt|the Silk Road|the Middle Ages|the Renaissance
the Industrial Revolution|the First World War|the Cold War|the Moon landing|the suffragettes|civil rights|democracy|constitutions|elections|courts
human rights|refugees|migration|globalisation|free trade|poverty|education|learning languages|reading to children|universities
school uniforms|homework|exams|kindergarten|volunteering|charities|friendship|marriage|parenting|ageing
loneliness|happiness|anger|gratitude|ethics|free will|Stoicism|Buddhism|religious festivals|weddings
birthdays|holidays by the sea|camping|hiking|skiing|cycling|sailing|flying|trains|road trips
hotels|airports|maps|compasses|clocks|calendars|money|gold|diamonds|steel
glass|paper|plastics|cotton|silk|leather|fashion|shoes|furniture|houses
cities|villages|parks|libraries|post offices|hospitals|fire fighters|police|journalism|newspapers
television|video games|board games|puzzles|magic tricks|circus|toys|dolls|kites|balloons
gravity|magnets|electricity|batteries|light bulbs|lasers|sound|heat|atoms|the periodic table
acids and bases|water|oxygen|carbon|plastic bottles|statistics|probability|prime numbers|geometry|algebra
calculus|sorting algorithms|databases|web pages|open source software|spreadsheets|e-mail|computer viruses|cloud computing|keyboards""".replace("\n", "|").split("|")

PLACES = """Paris|London|Berlin|Rome|Madrid|Vienna|Prague|Warsaw|Athens|Istanbul|Cairo|Nairobi|Lagos|Cape Town|Mumbai|Delhi|Bangkok|Hanoi
Singapore|Jakarta|Manila|Tokyo|Seoul|Beijing|Sydney|Auckland|Toronto|Chicago|New York|Boston|Seattle|Denver|Houston|Miami|Havana|Lima|Bogota
Santiago|Buenos Aires|Rio de Janeiro|Oslo|Stockholm|Helsinki|Dublin|Edinburgh|Lisbon|Zurich|Budapest|Kyiv|Ohio|Texas|California|Florida
Scotland|Ireland|Norway|Iceland|Greece|Turkey|Kenya|Nigeria|Egypt|India|Nepal|Vietnam|Peru|Chile|Mexico|Canada""".replace("\n", "|").split("|")

PEOPLE = """Albert Einstein|Marie Curie|Isaac Newton|Charles Darwin|Ada Lovelace|Alan Turing|Galileo|Leonardo da Vinci|William Shakespeare|Jane Austen
Charles Dickens|Mark Twain|Leo Tolstoy|Homer|Plato|Aristotle|Confucius|Cleopatra|Julius Caesar|Napoleon|Abraham Lincoln|George Washington
Mahatma Gandhi|Nelson Mandela|Martin Luther King|Winston Churchill|Queen Victoria|Mozart|Beethoven|Bach|The Beatles|Elvis Presley|Michael Jackson
Pablo Picasso|Vincent van Gogh|Frida Kahlo|Charlie Chaplin|Walt Disney|Alfred Hitchcock|Steven Spielberg|Tom Hanks|Meryl Streep|Pele|Muhammad Ali
Serena Williams|Usain Bolt|Neil Armstrong|Amelia Earhart|Steve Jobs|Bill Gates|Thomas Edison|Nikola Tesla|Florence Nightingale|Sigmund Freud""".replace("\n", "|").split("|")

WORKS = """Romeo and Juliet|Hamlet|Pride and Prejudice|Moby Dick|War and Peace|The Odyssey|Dracula|Frankenstein|Alice in Wonderland|Treasure Island
The Lion King|Titanic|Star Wars|The Godfather|Jurassic Park|Toy Story|The Wizard of Oz|Casablanca|Harry Potter|The Lord of the Rings
Sherlock Holmes|The Simpsons|Friends|Game of Thrones|Doctor Who|Breaking Bad|The Office|Sesame Street|Stranger Things|Grey's Anatomy
Bohemian Rhapsody|Imagine|Hotel California|Yesterday|Thriller|The Sound of Music|Les Miserables|Cats|The Nutcracker|Swan Lake""".replace("\n", "|").split("|")

ROLES = """a pirate captain|a Roman senator|a patient primary-school teacher|a Michelin-starred chef|a detective in a noir film|a friendly robot|a medieval knight
a wise old tree|a football coach|a travel guide in {place}|a nurse on a night shift|a stand-up comedian|a grumpy librarian|a museum curator|a weather presenter
a science journalist|a lawyer|a judge|a gardener|a car mechanic|an astronaut on the space station|a time traveller from 1850|a dragon who likes tea|a fortune teller
a personal trainer|a career adviser|a psychologist|a sommelier|a sailor|a farmer|a mayor of {place}|a ghost in an old house|a software engineer|a physics professor
{person}|{person}|{person}""".replace("\n", "|").split("|")

NAMES = "Anna|Ben|Clara|David|Emma|Felix|Grace|Hugo|Iris|Jack|Kate|Liam|Maria|Noah|Olga|Paul|Rosa|Sam|Tina|Victor|Wendy|Yusuf|Zoe|Priya|Chen|Fatima|Diego|Aisha".split("|")

CODE_TASKS = """checks whether a string is a palindrome|reverses a linked list|finds the second largest number in a list|counts the words in a text file|merges two sorted lists
computes the n-th Fibonacci number|checks whether a number is prime|sorts a list with quicksort|sorts a list with merge sort|does a binary search|finds the shortest path in a graph
parses a CSV file|reads JSON from a URL|validates an e-mail address|converts Celsius to Fahrenheit|removes duplicates from a list|groups words that are anagrams
computes the factorial of a number|finds the greatest common divisor|transposes a matrix|multiplies two matrices|counts vowels|rotates an array by k places|implements a stack
implements a queue with two stacks|implements a least-recently-used cache|traverses a binary tree in order|checks balanced brackets|generates all permutations|solves the eight queens problem
plays tic-tac-toe|simulates rolling dice|draws a bar chart|downloads an image|sends an e-mail|encrypts text with a Caesar cipher|computes the edit distance of two words
finds the longest common prefix|flattens a nested list|schedules tasks by priority|counts islands in a grid|computes a running average|formats a date|logs errors to a file""".replace("\n", "|").split("|")

LANGUAGES = ["Python"] * 6 + ["JavaScript", "Java", "C++", "C", "SQL", "HTML", "a shell script", "Go", "Rust"]

EVENTS = """a flood|a local election|a train delay|a new museum|a football final|a school closing|a bank robbery|a heat wave|a festival|a strike of bus drivers|a court case
a company merger|a product recall|a rescue at sea|a forest fire|a power cut|a scientific discovery|a celebrity wedding|a plane making an emergency landing|a missing dog that came home
a protest march|a new law on housing|a charity run|a hospital opening|a police investigation|a border dispute|a concert tour|a record harvest|a bridge repair|a cyber attack
an art theft|a tax reform|a transfer of a star player|a storm|a trial|a peace agreement|a rise in food prices|a new phone|a satellite launch|a food scandal""".replace("\n", "|").split("|")

GERMAN_SUBJECTS = """Die Regierung|Der Bürgermeister von {ort}|Die Polizei in {ort}|Ein Sprecher des Unternehmens|Die Opposition|Der neue Trainer|Eine Gruppe von Forschern|Die Bundeskanzlerin
Der Präsident|Die Europäische Kommission|Das Gericht|Ein Lehrer aus {ort}|Die Gewerkschaft|Der Minister für Verkehr|Viele Eltern|Die Bewohner der Stadt|Ein junger Musiker|Die Bank
Der Verein|Das Krankenhaus in {ort}|Mein Nachbar|Die Studentin|Der Hersteller|Ein Augenzeuge|Die Fluggesellschaft|Der Künstler|Die Feuerwehr|Die Schule""".replace("\n", "|").split("|")
GERMAN_VERBS = """hat am {tag} angekündigt , dass {nebensatz}|sagte der Zeitung , dass {nebensatz}|warnt davor , dass {nebensatz}|hofft , dass {nebensatz}|bestätigte am {tag} , dass {nebensatz}
will {zahl} Millionen Euro in {sache} investieren|hat {sache} wegen des schlechten Wetters verschoben|kritisiert {sache} scharf|freut sich über {sache}|muss {sache} neu planen
hat im vergangenen Jahr {zahl} Prozent mehr Geld für {sache} ausgegeben|diskutiert seit {zahl} Wochen über {sache}|stellte am {tag} in {ort} {sache} vor|verlor am {tag} das Vertrauen in {sache}
kaufte gestern {sache} und fuhr damit nach {ort}|sprach mit Journalisten über {sache}|lehnt {sache} weiterhin ab|wartet immer noch auf {sache}|eröffnete am {tag} {sache}""".replace("\n", "|").split("|")
GERMAN_CLAUSES = """die Kosten weiter steigen|das neue Gesetz im {monat} in Kraft tritt|es keine Alternative gibt|{zahl} Menschen verletzt wurden|die Arbeiten bis {monat} dauern werden
der Zug nicht mehr in {ort} hält|mehr als {zahl} Arbeitsplätze verloren gehen|die Kinder sicher nach Hause kommen|die Verhandlungen gescheitert sind|die Mannschaft das Spiel noch gewinnt
das Museum am {tag} geschlossen bleibt|der Täter noch nicht gefunden wurde|die Preise für Strom sinken|der Winter in diesem Jahr besonders kalt wird|niemand die Frage beantworten konnte""".replace("\n", "|").split("|")
GERMAN_THINGS = """den neuen Flughafen|die Reform der Rente|das alte Rathaus|ein Programm für junge Familien|die Ausstellung im Museum|den Bau der Brücke|das Spiel gegen {ort}|die Wahl im {monat}
ein elektrisches Fahrrad|das Konzert im Park|den Streit um die Miete|die Suche nach dem Hund|eine Schule mit {zahl} Klassen|den Schutz des Waldes|die Zukunft der Landwirtschaft|das Buch über seine Kindheit""".replace("\n", "|").split("|")
GERMAN_TAILS = ["."] * 5 + [
    " , obwohl viele Menschen dagegen sind .",
    " , weil das Geld nicht reicht .",
    " und bekam dafür viel Beifall .",
    " , berichtet die Zeitung am {tag} .",
    " - trotz der Krise .",
    " , so dass sich bald alles ändern könnte .",
    " , wie schon vor {zahl} Jahren .",
]
GERMAN_SLOTS = {
    "ort": "Berlin|Hamburg|München|Köln|Leipzig|Dresden|Wien|Zürich|Paris|Brüssel|London|Rom|Madrid|Bremen|Stuttgart|Prag".split("|"),
    "tag": "Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag".split("|"),
    "monat": "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember".split("|"),
    "zahl": "zwei|drei|vier|fünf|zehn|zwölf|20|25|40|60|100|150|300|500".split("|"),
    "sache": GERMAN_THINGS,
    "nebensatz": GERMAN_CLAUSES,
}

SYSTEM_PROMPTS = [
    "Provide a concise, objective summary of the input text in up to three sentences.",
    "You're an AI assistant for text re-writing. Rewrite the input text to make it more friendly and approachable.",
    "You're an AI assistant for text re-writing. Rewrite the input text to make it more professional and formal.",
    "Extract and present the main key point of the input text in one very short sentence.",
    "You are a helpful assistant that answers questions about a given text.",
    "You are a translator from German to English.",
    "You are a maths tutor. Solve the problem step by step.",
    "You are a coding assistant.",
]


@dataclass(frozen=True)
class Prompt:
    """What one conversation starts from."""

    kind: str
    user: str | None
    """The user's turn; None where the target writes it itself."""
    max_new: int
    system: str | None = None


def _fill(template: str, rng: random.Random, slots: dict[str, Sequence[str]]) -> str:
    """Replaces ``{slot}`` by a draw from its list until none is left (draws may hold slots themselves)."""
    while "{" in template:
        start, end = template.index("{"), template.index("}")
        template = template[:start] + rng.choice(slots[template[start + 1 : end]]) + template[end + 1 :]
    return template


ENGLISH_SLOTS: dict[str, Sequence[str]] = {
    "topic": TOPICS,
    "place": PLACES,
    "person": PEOPLE,
    "work": WORKS,
    "role": ROLES,
    "name": NAMES,
    "task": CODE_TASKS,
    "language": LANGUAGES,
    "event": EVENTS,
    "n": [str(n) for n in range(2, 13)],
    "big": [str(n) for n in range(12, 400)],
    "limit": [
        "",
        "",
        "",
        " Use fewer than 150 words.",
        " Keep it short.",
        " Answer in two paragraphs.",
        " Give {n} examples.",
        " Use bullet points.",
        " Explain it to a child.",
    ],
}

TEMPLATES: dict[str, list[str]] = {
    "writing": """Write a blog post about {topic}.{limit}|Write a short story in which {name} learns something about {topic}.{limit}|Write a poem about {topic}.{limit}
Draft an e-mail to {name} about a meeting on {topic}.{limit}|Write a product review of something to do with {topic}.{limit}|Compose a speech on {topic} for an audience in {place}.{limit}
Write an outline for an essay that compares {topic} and {topic}.{limit}|Write the opening paragraph of a novel set in {place}.{limit}|Suggest {n} catchy titles for an article about {topic}.
Describe a street market in {place} with all five senses.{limit}|Write a cover letter for a job to do with {topic}.{limit}|Write a dialogue between {name} and {name} about {topic}.{limit}
Write a persuasive letter about {topic} to the mayor of {place}.{limit}|Continue this story: {name} had never cared about {topic}, until one evening in {place}.|Write a travel diary of a week in {place}.{limit}
Write an advertisement for a course on {topic}.{limit}|Rewrite this sentence in a friendlier tone: Your report on {topic} is late and has {n} mistakes.|Write a thank-you note to {name} for help with {topic}.""",
    "roleplay": """Pretend to be {role}. How do you feel about {topic}?|You are {role}. Explain {topic} in your own way.{limit}|Act as {role} and answer: what should I know about {topic}?
Imagine you are {role} who meets {person}. What do you say?|Speak as {role} for the whole conversation. What did you do this morning?|Take on the role of {role}. I am {name} and need advice about {topic}.
From now on you are {role}. Tell me about your journey to {place}.|Play {role}: convince me that {topic} matters.{limit}""",
    "reasoning": """{name} is taller than {name}, and {name} is taller than {name}. Who is the shortest? Explain.|A train leaves {place} at {n} o'clock and another one two hours later. What do we need to know to say when they meet?
What do {topic} and {topic} have in common, and what sets them apart?|If all experts on {topic} live in {place} and {name} lives in {place}, is {name} an expert on {topic}?
What would happen if there were no {topic}? Think step by step.|What are the arguments for and against {topic}?{limit}
{name} put a coin in a box in the kitchen and went to {place}. {name} moved it to the cellar. Where will {name} look first?|Is it possible that {topic} causes {topic}? Discuss.|It rained on {n} days in {place} and {name} carried an umbrella on half of them. Did {name} get wet? Explain.""",
    "maths": """Solve for x: {n}x + {big} = {big}.|What is {big} times {n}? Show the steps.|Find the area of a triangle with base {n} cm and height {n} cm.|A shop sells {big} items at {n} dollars each. How much money does it take?
What is the probability of rolling a sum of {n} with two dice?|Find the derivative of f(x) = {n}x^{n} + {n}x.|The sum of two numbers is {big} and their difference is {n}. Find the numbers.|Simplify: ({n}x + {n})(x - {n}).
A rectangle is {n} m longer than it is wide and has a perimeter of {big} m. What is its area?|Find the remainder when {big} is divided by {n}.|{name} invests {big} dollars at {n} percent a year. How much is it after {n} years?
If f(x) = {n}x - {n}, what is f({n})?|How many ways are there to choose {n} books from a shelf of {big}?|What is {n}/{n} + {n}/{n}?|Find the mean of {n}, {n}, {big} and {big}.""",
    "sums": """{name} has {big} stickers and gives {n} to each of {n} friends. How many stickers are left?|{name} earns ${n} an hour and works {n} hours a day. How much does {name} earn in {n} days?
A farm has {big} hens. Each lays {n} eggs a week. How many eggs are there after {n} weeks?|{name} reads {n} pages in the morning and twice as many at night. How many pages does {name} read in {n} days?
There are {big} students in a school. A third of them walk and {n} come by car; the others take the bus. How many take the bus?|A pack of {n} pens costs ${n}. How much do {big} pens cost?
{name} is {n} years older than {name}, who is {big}. How old will {name} be in {n} years?|A bus has {big} seats. At the first stop {big} people get on, at the next {n} get off. How many seats are free?""",
    "code": """Write a function in {language} that {task}.|Write a {language} program that {task}. Add comments.|Explain how to write code that {task}.{limit}|Write a unit test for a {language} function that {task}.
What is the time complexity of a function that {task}? Show {language} code.|Fix my {language} code: it {task}, but it fails on an empty input.|Build a simple web page about {topic} with HTML and CSS.|Write an SQL query that lists the {n} best customers in {place}.
Design a class in {language} for {topic}.|How do I install and use a library in {language} that {task}?""",
    "stem": """How does {topic} work?{limit}|Explain the science behind {topic}.{limit}|What are the main parts of {topic} and what do they do?{limit}|Describe an experiment about {topic}.{limit}|What is the difference between {topic} and {topic}?
Why does {topic} matter for engineers?|What happens in the body during {topic}?|Which laws of physics apply to {topic}?{limit}|How would you design a bridge in {place}?{limit}|What are common misconceptions about {topic}?""",
    "humanities": """What are the causes and consequences of {topic}?{limit}|How did {topic} change society in {place}?{limit}|Compare the lives of {person} and {person}.{limit}|What would {person} think of {topic}?
Give a lesson plan on {topic} for {n} lessons.|Discuss the role of {topic} in {work}.|What are the best ways to teach {topic}?{limit}|How does {topic} influence the economy of {place}?{limit}|Write a short essay on {topic} and {topic}.{limit}""",
    "chat": """What can you tell me about {topic}?|I would like to start with {topic}. What should I do first?|Give me {n} tips about {topic}.|Hello, my name is {name}. Who are you?|What are the advantages and disadvantages of {topic}?
Plan a {n}-day trip to {place}.{limit}|What is a good present for {name}, who likes {topic}?|Recommend a recipe with {n} ingredients for a dinner in {place}.|Define {topic} in one sentence.|Make a table that compares {topic} and {topic}.
Can you help me with {topic}?|What should I pack for {place}?|List {n} facts about {topic}.|Is {topic} good for you?|Tell me a joke about {topic}.|Correct the grammar: {name} don't likes {topic} and they was in {place}.""",
    "question": """who wrote {work}|who played the main character in {work}|when was {person} born|when did {person} die|where was {person} born|what is {person} famous for|when did {work} come out
who sings the song {work}|where does the story of {work} take place|what is the capital of {place}|what is the population of {place}|where is {place} located|who is the president of {place}
what is the largest city in {place}|when was the university of {place} founded|what language do they speak in {place}|who invented {topic}|when was {topic} invented|what is the meaning of {topic}
how many seasons of {work} are there|who won the world cup in {place}|what is the name of the river in {place}|what is the tallest building in {place}|who discovered {topic}|where do {topic} come from
what is the main ingredient of {topic}|how long does it take to get to {place}|who directed {work}|what year did {topic} begin|which country is {place} in|how many people live in {place}
who was the first person to study {topic}|what kind of music does {person} play|what type of government does {place} have|when does the next season of {work} start|where did the name {name} come from""",
    "article": """Write a news article of about 200 words on {event} in {place}.|Write a newspaper report about {event} in {place}, with quotations from {name} and {name}.|Write a detailed news story: {event} near {place} last {weekday}.
Report on {event} in {place} for a national newspaper. Mention dates, numbers and the people involved.|Write a sports report about a game between {place} and {place}.|Write a business news story about a company in {place} that works on {topic}.""",
    "passage": """Write an encyclopedia article about {topic}.|Write an encyclopedia entry about {person}.|Write a factual paragraph about the history of {topic} in {place}.|Write a passage of about 150 words on {topic} for a textbook.
Describe the geography and history of {place} in an encyclopedic style.|Write an encyclopedia article about {work}.|Write a short biography of {person} with dates.""",
}
TEMPLATES = {kind: text.replace("\n", "|").split("|") for kind, text in TEMPLATES.items()}
ENGLISH_SLOTS["weekday"] = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday".split("|")

MAX_NEW = {
    "writing": 144, "roleplay": 144, "reasoning": 144, "maths": 144, "sums": 160, "code": 160, "stem": 144, "humanities": 144,
    "chat": 128, "question": 80, "article": 208, "passage": 176,
}  # fmt: skip
"""Most tokens to sample per kind: rather many conversations than long ones (breadth counts, and attention costs by length)."""

PASSAGE_QUESTIONS = """What is the main point of the text?|Who is mentioned in the text and why?|When did this happen?|Where does it take place?|What are the consequences?|What is described here?|Why is this important?
What are the most important facts about it?|how many people are involved|what is it used for|who is responsible for it|what happened first|what is the reason for it|Describe the key ideas.|What do we learn about the history of it?""".replace("\n", "|").split("|")

EXTRACTIONS = """Extract all names of people and places from the text as a list.|List every number in the text with what it stands for.|Give the names, dates and places in the text as JSON.|Extract the five most important keywords.
Identify the tone of the text and rate it from 1 to 5.|Make a table of the facts in the text.|Turn the text into three bullet points.|Write a headline for the text.|List the verbs in the first sentence.""".replace("\n", "|").split("|")

SUMMARY_FORMS = ["Summarize: {}"] * 6 + [
    "Summarize the following text.\n\n{}",
    "{}\n\nSummarize the text above in two sentences.",
    "Give a short summary of this article:\n{}",
    "TL;DR of this:\n\n{}",
    "What are the highlights of this news story?\n{}",
]


def german_sentence(rng: random.Random) -> str:
    """A German sentence in the style of a newspaper (tokenised punctuation, as translation corpora have it)."""
    sentence = f"{rng.choice(GERMAN_SUBJECTS)} {rng.choice(GERMAN_VERBS)}{rng.choice(GERMAN_TAILS)}"
    return _fill(sentence, rng, GERMAN_SLOTS)


def _templated(kind: str) -> Callable[[random.Random, Sequence[str], Sequence[str]], Prompt]:
    def build(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
        text = _fill(rng.choice(TEMPLATES[kind]), rng, ENGLISH_SLOTS)
        if kind == "question" and rng.random() < 0.5:
            text = text[0].upper() + text[1:] + "?"
        return Prompt(kind, text, MAX_NEW[kind])

    return build


def _extra(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
    if not extra:
        return _templated("sums")(rng, passages, extra)
    return Prompt("extra", rng.choice(extra), 160)


def _translation(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
    sentence = german_sentence(rng)
    form = rng.choice(["Translate German to English: {}"] * 6 + ["Translate into English: {}", "What does this mean in English? {}"])
    return Prompt("translation", form.format(sentence), 96)


def _bare(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
    system = rng.choice(SYSTEM_PROMPTS) if rng.random() < 0.5 else None
    return Prompt("bare", None, 224, system)


def _summary(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
    text = "\n".join(rng.choice(passages) for _ in range(rng.choice([1, 1, 2, 3])))
    return Prompt("summary", rng.choice(SUMMARY_FORMS).format(text), 112)


def _over_passage(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
    text = "\n".join(rng.choice(passages) for _ in range(rng.choice([1, 2, 3, 3])))
    if rng.random() < 0.5:
        question = rng.choice(PASSAGE_QUESTIONS)
    else:
        question = _fill(rng.choice(TEMPLATES["question"] + TEMPLATES["stem"]), rng, ENGLISH_SLOTS)
    return Prompt("passage question", f"{text}\n{question}", 112)


def _extraction(rng: random.Random, passages: Sequence[str], extra: Sequence[str]) -> Prompt:
    return Prompt("extraction", f"{rng.choice(EXTRACTIONS)}\n\n{rng.choice(passages)}", 112)


PROSE = ("article", "passage")
"""Kinds whose answers become the passages of later shards."""

SHORT: dict[str, tuple[float, Callable[[random.Random, Sequence[str], Sequence[str]], Prompt]]] = {
    **{
        kind: (weight, _templated(kind))
        for kind, weight in {
            "writing": 6, "roleplay": 6, "reasoning": 6, "maths": 6, "sums": 3, "code": 7, "stem": 7, "humanities": 6,
            "chat": 5, "question": 12, "article": 8, "passage": 6,
        }.items()
    },
    "extra": (22, _extra),
    "translation": (16, _translation),
    "bare": (10, _bare),
}  # fmt: skip
"""Kinds with short prompts: relative weight and builder."""

LONG: dict[str, tuple[float, Callable[[random.Random, Sequence[str], Sequence[str]], Prompt]]] = {
    "summary": (5, _summary),
    "passage question": (4, _over_passage),
    "extraction": (1, _extraction),
}
"""Kinds with a passage in the prompt."""

TEMPERATURES = [0.7] * 6 + [1.0] * 2 + [0.9, 0.0]
"""Greedy has a share of its own, except where the target writes the whole conversation: it would write the same one each time."""


def compose(
    count: int, rng: random.Random, passages: Sequence[str], extra: Sequence[str], long: bool
) -> list[tuple[Prompt, float]]:
    """``count`` prompts of short or long kinds, each with the temperature to sample its answer at."""
    kinds = LONG if long else SHORT
    builders = [builder for _, builder in kinds.values()]
    weights = [weight for weight, _ in kinds.values()]
    chosen = rng.choices(builders, weights=weights, k=count)
    prompts = [build(rng, passages, extra) for build in chosen]
    return [(p, rng.choice(TEMPERATURES if p.user else TEMPERATURES[:-1])) for p in prompts]
